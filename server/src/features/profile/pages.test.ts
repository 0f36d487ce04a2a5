import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { buildApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { execute } from '../../../test/sql.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

const home = '/dashboard/profile';
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
/** What a camera writes. */
const place = { IFD3: { GPSLatitude: '13/1 45/1 0/1', GPSLongitude: '100/1 30/1 0/1' } };
const good = {
  display_name: '  มะลิ 🌼 ',
  bio: 'Draws cats\r\non weekends',
  platform_0: 'YouTube',
  url_0: 'https://youtube.com/@mali',
  platform_7: 'My shop',
  url_7: ' https://shop.example/แมว ',
  channel_card: 'on',
  channel_promptpay: 'on',
  page_public: 'on',
};

async function creatorAt(t: Parameters<typeof buildApp>[0]) {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const visitor = await signedInVisitor(app, pair.creatorId);
  await visitor.get(home);
  const api = async (url: string) => (await app.http.inject({ url, headers: pair.headers })).json();
  const stranger = (url: string) => app.http.inject({ url, headers: { accept: 'text/html' } });
  /** As a browser sends the form; `null` is a file field where nothing was chosen. */
  const upload = async (bytes: Uint8Array<ArrayBuffer> | string | null, name = 'me.png', csrf?: string) => {
    const page = (await visitor.get(home)).body;
    const form = new FormData();
    form.set('csrf', csrf ?? /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? '');
    form.set('avatar', new File(bytes === null ? [] : [bytes], bytes === null ? '' : name, { type: 'image/png' }));
    const sent = new Response(form);
    return app.http.inject({
      method: 'POST',
      url: `${home}/avatar`,
      headers: {
        origin: app.runtime.config.authUrl,
        cookie: [...visitor.cookies].map(([key, value]) => `${key}=${value}`).join('; '),
        'content-type': sent.headers.get('content-type') ?? '',
      },
      payload: Buffer.from(await sent.arrayBuffer()),
    });
  };
  const avatarPath = async () => String((await api('/v1/profile')).avatar_url).slice(app.runtime.config.authUrl.length);
  return { ...app, ...pair, visitor, api, stranger, upload, avatarPath };
}

test('what is saved is what the form, the API and the public page show', async (t) => {
  const { visitor, api, username, runtime, stranger } = await creatorAt(t);
  assert.equal((await visitor.post(home, good)).headers.location, home);
  const profile = await api('/v1/profile');
  assert.equal(profile.display_name, 'มะลิ 🌼');
  assert.equal(profile.bio, 'Draws cats\non weekends');
  assert.equal(profile.page_url, `${runtime.config.authUrl}/@${username}`);
  assert.deepEqual(profile.social_links, [
    { platform: 'youtube', url: 'https://youtube.com/@mali' },
    { platform: 'My shop', url: 'https://shop.example/%E0%B9%81%E0%B8%A1%E0%B8%A7' },
  ]);
  assert.equal((await api('/v1/me')).display_name, 'มะลิ 🌼');
  const form = (await visitor.get(home)).body;
  assert.match(form, /value="YouTube"/);
  assert.match(form, /name="channel_card" value="on" checked/);
  assert.doesNotMatch(form, /name="channel_line_pay" value="on" checked/);
  const page = (await stranger(`/@${username}`)).body;
  assert.match(
    page,
    /<a href="https:\/\/youtube\.com\/@mali" rel="noopener nofollow ugc"><bdi class="written">YouTube<\/bdi><\/a>/,
  );
  assert.match(page, /PromptPay.*Card/s);
  assert.doesNotMatch(page, /LINE Pay/);
  // An empty form switches everything off again.
  await visitor.post(home, { display_name: 'Mali' });
  const { bio, page_url, social_links } = await api('/v1/profile');
  assert.deepEqual({ bio, page_url, social_links }, { bio: null, page_url: null, social_links: [] });
});

test('each channel has the creator’s own address or words, in the API and on the page', async (t) => {
  const { visitor, api, username, stranger, runtime } = await creatorAt(t);
  const details = {
    channel_url_promptpay: ' https://pay.example/mali ',
    channel_note_promptpay: 'สแกนได้เลย <b>',
    channel_note_card: 'Ask me on stream',
    channel_url_line_pay: 'https://line.example/x',
    look: 'night',
  };
  await visitor.post(home, { ...good, ...details });
  const { tip_channels } = await api('/v1/profile');
  assert.deepEqual(
    tip_channels.map(({ type, enabled, url, note }: Record<string, unknown>) => [type, enabled, url, note]),
    [
      ['promptpay', true, 'https://pay.example/mali', 'สแกนได้เลย <b>'],
      ['truemoney', false, null, null],
      ['bank_transfer', false, null, null],
      ['card', true, null, 'Ask me on stream'],
      ['shopeepay', false, null, null],
      ['line_pay', false, 'https://line.example/x', null],
    ],
  );
  const { body } = await stranger(`/@${username}`);
  const address = `${runtime.config.authUrl}/@${username}`;
  assert.match(body, /data-look="night"/);
  assert.match(body, /<a class="channel" href="https:\/\/pay\.example\/mali" rel="noopener nofollow ugc">/);
  assert.match(body, /สแกนได้เลย &#60;b&#62;/);
  assert.match(body, /Ask me on stream/);
  assert.doesNotMatch(body, /line\.example/, 'a channel that is off is not shown');
  for (const tag of [
    `<meta property="og:url" content="${address}">`,
    `<meta property="og:image" content="${address}/card.png">`,
    '<meta property="og:title" content="Send มะลิ 🌼 a tip">',
    '<meta property="og:description" content="Draws cats on weekends">',
  ])
    assert.ok(body.includes(tag), tag);
  const form = (await visitor.get(home)).body;
  assert.match(form, /value="https:\/\/line\.example\/x"/, 'kept for later');
  assert.match(form, /value="night" checked/);
});

test('the page has a QR code and a picture for chat apps, both drawn here', async (t) => {
  const { visitor, username, stranger, upload, runtime, creatorId } = await creatorAt(t);
  for (const file of ['qr.svg', 'card.png'])
    assert.equal((await stranger(`/@${username}/${file}`)).statusCode, 404, 'the page is off');
  await visitor.post(home, { ...good, display_name: '<b>&มะลิ 🌼' });
  await upload(png);
  const qr = await stranger(`/@${username}/qr.svg`);
  assert.equal(qr.headers['content-type'], 'image/svg+xml');
  assert.match(String(qr.headers['content-security-policy']), /sandbox/);
  assert.match(qr.body, /^<svg/);
  const [card, again] = await Promise.all([stranger(`/@${username}/card.png`), stranger(`/@${username}/card.png`)]);
  const { width, height, format } = await sharp(card.rawPayload).metadata();
  assert.deepEqual([width, height, format], [1200, 630, 'png']);
  assert.deepEqual(card.rawPayload, again.rawPayload);
  await visitor.post(home, { ...good, look: 'market' });
  assert.notDeepEqual((await stranger(`/@${username}/card.png`)).rawPayload, card.rawPayload, 'drawn anew');
  await runtime.accounts.setSuspended(creatorId, 1);
  for (const file of ['qr.svg', 'card.png'])
    assert.equal((await stranger(`/@${username}/${file}`)).statusCode, 404, 'suspended');
});

const wrongs: [string, string][] = [
  ['channel_url_card', 'http://pay.example/'],
  ['channel_url_card', 'javascript:alert(1)'],
  ['channel_url_card', 'https://bank.example@evil.example/'],
  ['channel_note_card', 'x'.repeat(141)],
  ['channel_note_card', 'a\u202eb'],
  ['display_name', ''],
  ['display_name', ' \u200b\u3164 '],
  ['display_name', '🌼'.repeat(41)],
  ['display_name', 'a\u202eb'],
  ['bio', '🌼'.repeat(501)],
  ['bio', 'a\u0007b'],
  ['platform_0', ''],
  ['platform_0', 'x'.repeat(31)],
  ['platform_0', 'a\u202eb'],
  ['url_0', ''],
  ['url_0', 'youtube.com/@mali'],
  ['url_0', 'http://youtube.com/'],
  ['url_0', 'javascript:alert(1)'],
  ['url_0', 'https://youtube.com@evil.example/'],
  ['url_0', `https://a.example/${'x'.repeat(2048)}`],
  ['url_0', `https://a.example/${'แ'.repeat(300)}`],
];

test('each error stands beside its field, and what was typed is kept', async (t) => {
  const { visitor, api, username } = await creatorAt(t);
  for (const [name, value] of wrongs) {
    const refused = await visitor.post(home, { ...good, [name]: value });
    assert.equal(refused.statusCode, 422, `${name} ${value}`);
    assert.deepEqual(refused.body.match(/id="field-\w+-error"/g), [`id="field-${name}-error"`], `${name} ${value}`);
    assert.match(refused.body, /value="My shop"/);
    assert.match(refused.body, /name="page_public" value="on" checked/);
  }
  const longest = {
    display_name: '🌼'.repeat(40),
    bio: `${'🌼'.repeat(498)}\r\n.`,
    platform_0: 'x'.repeat(30),
  };
  assert.equal((await api('/v1/profile')).display_name, username);
  assert.equal((await visitor.post(home, { ...good, ...longest })).statusCode, 303);
  const thai = await visitor.get(`${home}?lang=th`);
  assert.match(thai.body, /บันทึกโปรไฟล์/);
});

test('security 26: a profile is text wherever it is shown', async (t) => {
  const { visitor, username, stranger } = await creatorAt(t);
  const evil = '"><script>x</script>';
  await visitor.post(home, {
    ...good,
    display_name: evil,
    bio: evil,
    platform_0: evil,
    url_0: `https://a.example/?${evil}`,
  });
  for (const page of [await visitor.get(home), await stranger(`/@${username}`)]) {
    assert.equal(page.statusCode, 200);
    assert.doesNotMatch(page.body, /<script>/);
    assert.match(page.body, /&#60;script&#62;/);
  }
});

test('the public page is off at first, and off for whoever is suspended', async (t) => {
  const { visitor, username, runtime, creatorId, stranger, upload, avatarPath } = await creatorAt(t);
  assert.equal((await stranger(`/@${username}`)).statusCode, 404);
  await visitor.post(home, good);
  await upload(png);
  const avatar = await avatarPath();
  assert.equal((await stranger(`/@${username}`)).statusCode, 200);
  assert.equal((await stranger(avatar)).statusCode, 200);
  await runtime.accounts.setSuspended(creatorId, 1);
  for (const path of [`/@${username}`, avatar, '/@nobody_here', '/@a%00b', '/avatars/avt_', '/avatars/%00']) {
    const answer = await stranger(path);
    assert.equal(answer.statusCode, 404, path);
    assert.match(answer.body, /<h1>There is nothing here/);
  }
});

test('security 45: a picture is encoded anew and served where it can do nothing', async (t) => {
  const { upload, api, visitor, stranger, runtime, avatarPath } = await creatorAt(t);
  assert.equal((await upload(png, 'me.jpg')).statusCode, 303);
  const first = await avatarPath();
  assert.equal((await api('/v1/me')).avatar_url, `${runtime.config.authUrl}${first}`);
  const served = await stranger(first);
  assert.equal((await sharp(served.rawPayload).metadata()).width, 1);
  assert.equal(served.headers['content-type'], 'image/png');
  assert.equal(served.headers['content-security-policy'], "default-src 'none'; sandbox");
  assert.equal(served.headers['x-content-type-options'], 'nosniff');
  assert.equal(served.headers['set-cookie'], undefined);

  const large = sharp({ create: { width: 2000, height: 1000, channels: 3, background: 'red' } });
  const photo = await large.clone().jpeg().withExif(place).toBuffer();
  assert.equal((await upload(new Uint8Array(await large.clone().webp().toBuffer()))).statusCode, 303);
  assert.equal((await stranger(await avatarPath())).headers['content-type'], 'image/webp');
  assert.equal((await stranger(first)).statusCode, 404);
  assert.ok((await sharp(photo).metadata()).exif, 'the upload tells the place');
  assert.equal((await upload(Buffer.concat([photo, Buffer.from('<script>second file</script>')]))).statusCode, 303);
  const jpeg = await stranger(await avatarPath());
  assert.equal(jpeg.headers['content-type'], 'image/jpeg');
  const { width, height, exif, xmp, iptc, icc } = await sharp(jpeg.rawPayload).metadata();
  assert.deepEqual([width, height, exif, xmp, iptc, icc], [512, 256, undefined, undefined, undefined, undefined]);
  assert.ok(!jpeg.rawPayload.includes('second file'));

  await visitor.post(`${home}/avatar/remove`);
  assert.equal((await api('/v1/profile')).avatar_url, null);
  assert.deepEqual(await runtime.db.all('SELECT id FROM avatars'), []);
});

test('security 45: a picture from before is encoded anew when it is first asked for', async (t) => {
  const { upload, stranger, runtime, avatarPath, api, creatorId } = await creatorAt(t);
  await upload(png);
  const path = await avatarPath();
  const picture = sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } }).png();
  const before = Buffer.concat([await picture.withExif(place).toBuffer(), Buffer.from('second file')]);
  const stored = () =>
    runtime.db.get<{ bytes: Uint8Array }>('SELECT bytes FROM avatars WHERE creator_id = $1', [creatorId]);
  const put = (bytes: Buffer) =>
    execute(runtime.db, 'UPDATE avatars SET bytes = $2, encoded = 0 WHERE creator_id = $1', [creatorId, bytes]);
  await put(before);
  const [first, second] = await Promise.all([stranger(path), stranger(path)]);
  for (const served of [first, second]) {
    assert.equal(served.statusCode, 200);
    assert.equal((await sharp(served.rawPayload).metadata()).exif, undefined);
    assert.ok(!served.rawPayload.includes('second file'));
  }
  assert.deepEqual(Buffer.from((await stored())?.bytes ?? []), first.rawPayload, 'and is kept so');
  await put(Buffer.from('\x89PNG\r\n\x1a\n<script>'));
  assert.equal((await stranger(path)).statusCode, 404);
  assert.equal((await api('/v1/profile')).avatar_url, null, 'what is no picture is removed');
});

test('a picture that takes too long is not called broken, and one from before is kept', async (t) => {
  const { upload, stranger, runtime, avatarPath, creatorId } = await creatorAt(t);
  await upload(png);
  const path = await avatarPath();
  await execute(runtime.db, 'UPDATE avatars SET encoded = 0 WHERE creator_id = $1', [creatorId]);
  const encode = t.mock.method(sharp.prototype, 'toBuffer', () => Promise.reject(new Error('timeout: 7% complete')));
  const refused = await upload(png);
  assert.equal(refused.statusCode, 422);
  assert.match(refused.body, /took too long/);
  const later = await stranger(path);
  assert.deepEqual([later.statusCode, later.headers['retry-after']], [429, '5']);
  encode.mock.restore();
  assert.equal((await stranger(path)).statusCode, 200);
});

test('uploads are counted, and nobody else’s are read', async (t) => {
  const { upload, visitor, http, runtime, clock } = await creatorAt(t);
  for (let i = 0; i < 10; i++) assert.equal((await upload(png)).statusCode, 303);
  const refused = await upload(png);
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
  clock.advance(60_000);
  assert.equal((await upload(png)).statusCode, 303);
  visitor.cookies.clear();
  const body = Buffer.alloc(4_000_000);
  const headers = { origin: runtime.config.authUrl, 'content-type': 'multipart/form-data; boundary=x' };
  const stranger = await http.inject({ method: 'POST', url: `${home}/avatar`, headers, payload: body });
  assert.equal(stranger.statusCode, 303);
});

test('what is no picture, or too large, is refused beside the field', async (t) => {
  const { upload, api } = await creatorAt(t);
  const cases: [Uint8Array<ArrayBuffer> | string | null, number, RegExp][] = [
    ['<!doctype html><script>x</script>', 422, /not a PNG/],
    ['<svg xmlns="http://www.w3.org/2000/svg" onload="x"/>', 422, /not a PNG/],
    ['RIFF\0\0\0\0WAVE', 422, /not a PNG/],
    [null, 422, /Choose a file first/],
    ['\x89PNG\r\n\x1a\n not really', 422, /not a PNG/],
    [png.subarray(0, 40), 422, /not a PNG/],
    [Buffer.concat([png, Buffer.alloc(5_000_001 - png.length)]), 422, /larger than 5 MB/],
    [Buffer.concat([png, Buffer.alloc(6_000_000)]), 413, /larger than 5 MB/],
  ];
  for (const [bytes, status, words] of cases) {
    const answer = await upload(bytes);
    assert.equal(answer.statusCode, status, String(words));
    assert.match(/id="field-avatar-error">([^<]+)/.exec(answer.body)?.[1] ?? '', words);
  }
  assert.equal((await api('/v1/profile')).avatar_url, null);
});

test('every form needs this session and its token', async (t) => {
  const { visitor, upload, api, http, username } = await creatorAt(t);
  assert.equal((await upload(png, 'me.png', 'wrong')).statusCode, 403);
  for (const path of [home, `${home}/avatar/remove`]) {
    assert.equal((await visitor.post(path, { ...good, csrf: 'wrong' })).statusCode, 403);
    assert.equal((await visitor.post(path, good, { origin: 'https://evil.example' })).statusCode, 403);
  }
  assert.equal((await api('/v1/profile')).display_name, username);
  assert.equal((await http.inject({ url: home })).headers.location, `/login?return_to=${encodeURIComponent(home)}`);
});

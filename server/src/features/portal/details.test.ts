import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import sharp from 'sharp';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

const redirectUri = 'https://app.example/callback';
const fields = {
  name: 'Goal Bot',
  redirect_uris: redirectUri,
  description: 'Shows <b>goals</b>.\r\nEvery stream.',
  homepage: 'https://goalbot.example',
  privacy: 'https://goalbot.example/privacy?a=1&b=2',
};

async function setup(t: Pick<TestContext, 'after'>) {
  const app = await buildApp(t);
  const developer = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, developer.creatorId);
  assert.equal((await visitor.post('/developers/apps', fields)).statusCode, 201);
  const [row] = await app.runtime.apps.ofOwner(developer.creatorId);
  assert.ok(row);
  const clientId = row.id;
  const url = `/developers/apps/${clientId}`;
  const consent = `/oauth/authorize?${new URLSearchParams({ client_id: clientId, redirect_uri: redirectUri, state: 's' })}`;
  const stranger = (path: string) => app.http.inject({ url: path, headers: { accept: 'text/html' } });
  const upload = async (bytes: Uint8Array<ArrayBuffer> | string, o: { csrf?: string; by?: typeof visitor } = {}) => {
    const by = o.by ?? visitor;
    const csrf = o.csrf ?? /name="csrf" value="([^"]+)"/.exec((await by.get('/developers')).body)?.[1] ?? '';
    const form = new FormData();
    form.set('csrf', csrf || (/name="csrf" value="([^"]+)"/.exec((await by.get('/logout')).body)?.[1] ?? ''));
    form.set('logo', new File([bytes], 'logo.png', { type: 'image/png' }));
    const sent = new Response(form);
    return app.http.inject({
      method: 'POST',
      url: `${url}/logo`,
      headers: {
        accept: 'text/html',
        origin: app.runtime.config.authUrl,
        cookie: [...by.cookies].map(([key, value]) => `${key}=${value}`).join('; '),
        'content-type': sent.headers.get('content-type') ?? '',
      },
      payload: Buffer.from(await sent.arrayBuffer()),
    });
  };
  const logoPath = (body: string) => /src="(\/app-logos\/lgo_\w{26})"/.exec(body)?.[1];
  return { ...app, developer, visitor, clientId, url, consent, stranger, upload, logoPath };
}

const solid = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: { r: 200, g: 0, b: 0 } } });
const png = async () => new Uint8Array(await solid(4, 4).png().toBuffer());

test('consent page, connected apps and portal show description, homepage and privacy page as text and links', async (t) => {
  const app = await setup(t);
  const creator = await makeCreator(app.runtime);
  await app.runtime.grants.addByOperator(creator.creatorId, app.clientId, 'tips.read');
  const visitor = await signedInVisitor(app, creator.creatorId);
  for (const path of [app.consent, '/dashboard/apps']) {
    const { body } = await visitor.get(path);
    assert.match(body, /In the words of its developer:/);
    assert.match(
      body,
      /<bdi class="written">Shows &(lt|#60);b&(gt|#62);goals&(lt|#60);\/b&(gt|#62);\.\nEvery stream\.</,
    );
    const links = [...body.matchAll(/<a class="outside" href="([^"]+)"([^>]*)>([^<]*)</g)];
    assert.deepEqual(
      links.map(([, href, , text]) => [
        href?.replaceAll('&amp;', '&').replaceAll('&#38;', '&').replaceAll('&#61;', '='),
        text,
      ]),
      [
        ['https://goalbot.example/', 'goalbot.example'],
        [fields.privacy, 'goalbot.example'],
      ],
    );
    for (const [, , more] of links) assert.match(more ?? '', /target="_blank" rel="noopener noreferrer nofollow ugc"/);
  }
  const thai = await visitor.get(app.consent, { 'accept-language': 'th' });
  assert.match(thai.body, /คำอธิบายจากผู้พัฒนา:/);
  const form = (await app.visitor.get(app.url)).body;
  assert.match(form, /name="homepage"[^>]*value="https:\/\/goalbot\.example\/"/);

  await app.visitor.post(app.url, { name: fields.name, redirect_uris: redirectUri });
  const bare = (await visitor.get(app.consent)).body;
  assert.doesNotMatch(bare, /In the words of|class="outside"/, 'all of it is optional');
});

test('security 47: what hides characters, is too long or no https: address is refused beside its field', async (t) => {
  const app = await setup(t);
  const before = await app.runtime.apps.byId(app.clientId);
  const refused: [field: string, value: string][] = [
    ['description', 'x'.repeat(301)],
    ['description', 'pay\u202eevil'],
    ['description', 'in\u200bvisible'],
    ['description', 'a\u0007b'],
    ['description', `tag \u{e0041}`],
    ...['homepage', 'privacy'].flatMap((field): [string, string][] => [
      [field, 'http://goalbot.example/'],
      [field, 'javascript:alert(1)'],
      [field, 'goalbot.example'],
      [field, 'https://namjai.example@goalbot.example/'],
      [field, `https://goalbot.example/${'x'.repeat(2048)}`],
    ]),
  ];
  for (const [field, value] of refused)
    for (const path of [app.url, '/developers/apps']) {
      const page = await app.visitor.post(path, { ...fields, [field]: value });
      assert.equal(page.statusCode, 422, `${field} ${value}`);
      assert.match(page.body, new RegExp(`id="field-${field}-error"`), value);
      assert.match(page.body, /aria-invalid="true"/);
    }
  assert.deepEqual(await app.runtime.apps.byId(app.clientId), before);
  assert.equal((await app.runtime.apps.ofOwner(app.developer.creatorId)).length, 1);
  // Joiners are fine where a script or an emoji needs them; a line break is one character.
  const fine = { ...fields, description: `${'\r\n'.repeat(3)}👩‍👩‍👧 Namjai นักสตรีม ${'x'.repeat(270)}` };
  assert.equal((await app.visitor.post(app.url, fine)).statusCode, 303);
});

test('security 45: a logo is encoded anew, without what its camera wrote, and is served where it can do nothing', async (t) => {
  const app = await setup(t);
  const { upload, stranger, visitor, logoPath } = app;
  const place = { IFD0: { Copyright: 'secret place' }, IFD3: { GPSLatitude: '13/1 45/1 0/1' } };
  const photo = await solid(2000, 1000).jpeg().withExif(place).toBuffer();
  assert.ok((await sharp(photo).metadata()).exif, 'the upload tells the place');
  assert.equal((await upload(Buffer.concat([photo, Buffer.from('<script>second file</script>')]))).statusCode, 303);
  const path = logoPath((await visitor.get(app.consent)).body);
  assert.ok(path, 'the consent page shows it');
  const served = await stranger(path);
  assert.equal(served.statusCode, 200);
  assert.equal(served.headers['content-type'], 'image/jpeg');
  assert.equal(served.headers['content-security-policy'], "default-src 'none'; sandbox");
  assert.equal(served.headers['x-content-type-options'], 'nosniff');
  assert.equal(served.headers['set-cookie'], undefined);
  const { width, height, exif, xmp, iptc } = await sharp(served.rawPayload).metadata();
  assert.deepEqual([width, height, exif, xmp, iptc], [256, 128, undefined, undefined, undefined]);
  assert.ok(!served.rawPayload.includes('secret place') && !served.rawPayload.includes('second file'));

  await upload(await png());
  const second = logoPath((await visitor.get(app.url)).body) ?? '';
  assert.notEqual(second, path);
  assert.equal((await stranger(path)).statusCode, 404, 'one logo an app');
  assert.equal((await app.runtime.db.all('SELECT id FROM app_logos')).length, 1);
  await app.runtime.grants.suspend('app', app.clientId, 1);
  assert.equal((await stranger(second)).statusCode, 404, 'suspended');
  await app.runtime.grants.suspend('app', app.clientId, null);
  assert.equal((await stranger(second)).statusCode, 200);
  assert.equal((await visitor.post(`${app.url}/logo/remove`)).headers.location, app.url);
  assert.equal(logoPath((await visitor.get(app.url)).body), undefined);
  for (const none of [second, '/app-logos/lgo_', '/app-logos/%00', '/app-logos/x'])
    assert.equal((await stranger(none)).statusCode, 404, none);
});

test('what is no picture, is too large or has too many pixels is refused beside the field', async (t) => {
  const { upload, visitor, url, runtime } = await setup(t);
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
  const noise = Buffer.from('\x89PNG\r\n\x1a\n<script>', 'latin1');
  for (const [bytes, reason, status] of [
    [svg, /no PNG, JPEG or WebP/, 422],
    [noise, /no PNG, JPEG or WebP/, 422],
    ['', /Choose a picture first/, 422],
    [Buffer.alloc(2_000_001), /larger than 2 MB/, 422],
    [Buffer.alloc(2_200_000), /larger than 2 MB/, 413],
  ] as const) {
    const page = await upload(bytes);
    assert.equal(page.statusCode, status, String(reason));
    assert.match(/id="field-logo-error">([^<]*)</.exec(page.body)?.[1] ?? '', reason);
  }
  assert.deepEqual(await runtime.db.all('SELECT id FROM app_logos'), []);
  assert.equal((await visitor.get(url)).statusCode, 200);
});

test('uploads of logos are counted with all other uploads of the account', async (t) => {
  const { upload } = await setup(t);
  const picture = await png();
  for (let i = 0; i < 10; i++) assert.equal((await upload(picture)).statusCode, 303);
  const refused = await upload(picture);
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
});

test('security 5, 23: nobody else sets or removes a logo, nor does a form without its CSRF token', async (t) => {
  const app = await setup(t);
  const { upload, runtime, clientId, url } = app;
  await upload(await png());
  const before = await runtime.apps.byId(clientId);
  const other = await signedInVisitor(app, (await makeCreator(runtime)).creatorId);
  assert.equal((await upload(await png(), { by: other })).statusCode, 404);
  assert.equal((await other.post(`${url}/logo/remove`)).statusCode, 404);
  assert.equal((await upload(await png(), { csrf: 'wrong' })).statusCode, 403);
  assert.equal((await app.visitor.post(`${url}/logo/remove`, { csrf: 'wrong' })).statusCode, 403);
  assert.equal(await runtime.logos.set(app.developer.creatorId, `app_${'0'.repeat(26)}`, await png()), false);
  assert.deepEqual(await runtime.apps.byId(clientId), before);
});

test('deleting the app deletes its logo and what it told; its name stays for tips', async (t) => {
  const { upload, visitor, runtime, clientId, url } = await setup(t);
  await upload(await png());
  await makePair(runtime, { app: { clientId, clientSecret: '' } });
  await visitor.post(`${url}/delete`);
  assert.deepEqual(await runtime.db.all('SELECT id FROM app_logos'), []);
  const row = await runtime.db.get(
    'SELECT name, description, homepage_url, privacy_url, logo_id FROM apps WHERE id = $1',
    [clientId],
  );
  const none = { description: null, homepage_url: null, privacy_url: null, logo_id: null };
  assert.deepEqual({ ...(row as object) }, { name: 'Goal Bot', ...none });
});

test('security 5: a consent page whose app has changed since is shown again and approves nothing', async (t) => {
  const app = await setup(t);
  const creator = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creator.creatorId);
  const changes = [
    () => app.visitor.post(app.url, { ...fields, description: 'Something else' }),
    () => app.visitor.post(app.url, { ...fields, description: 'Something else', homepage: 'https://other.example' }),
    async () => app.upload(await png()),
  ];
  for (const change of changes) {
    const ticket = /name="request" value="([^"]+)"/.exec((await visitor.get(app.consent)).body)?.[1] ?? '';
    assert.equal((await change()).statusCode, 303);
    const answer = await visitor.post('/oauth/authorize', { request: ticket, decision: 'approve' });
    assert.match(String(answer.headers.location), /^\/oauth\/authorize\?/);
  }
  assert.equal(await app.runtime.grants.isConnected(creator.creatorId, app.clientId), false);
});

test('a double click on “Make a new secret” makes one, which both answers show; the one before works on', async (t) => {
  const app = await setup(t);
  const { visitor, url, runtime, clientId } = app;
  const works = async (clientSecret = '') =>
    'app' in (await runtime.apps.authenticate({ clientId, clientSecret }, '127.0.0.1'));
  const secretIn = (body: string) => /njs_\w{43}/.exec(body)?.[0];
  const formOf = async () => ({
    change: /name="change" value="([^"]+)"/.exec((await visitor.get(url)).body)?.[1] ?? '',
  });
  const before = await runtime.apps.rotateSecret(clientId);
  const [form, otherTab] = [await formOf(), await formOf()];
  const answers = await Promise.all([1, 2, 3].map(() => visitor.post(`${url}/secret`, form)));
  answers.push(await visitor.post(`${url}/secret`, form));
  const shown = new Set(answers.map(({ body }) => secretIn(body)));
  assert.equal(shown.size, 1);
  const [made] = shown;
  assert.equal(await works(made), true);
  assert.equal(await works(before), true, 'what is in production works for 24 hours');

  const outdated = await visitor.post(`${url}/secret`, otherTab);
  assert.equal(outdated.headers.location, url);
  assert.equal(await works(made), true);
  assert.equal(await works(before), true);
  assert.match((await visitor.get(url)).body, /Another secret was made since/);

  const next = secretIn((await visitor.post(`${url}/secret`, await formOf())).body);
  assert.ok(next && next !== made);
  assert.equal((await visitor.post(`${url}/secret`, form)).headers.location, url, 'an old form brings nothing back');
  assert.deepEqual([await works(next), await works(made), await works(before)], [true, true, false]);

  // Sealed for one session and one app.
  const other = await signedInVisitor(app, app.developer.creatorId);
  const elsewhere = secretIn((await other.post(`${url}/secret`, form)).body);
  assert.ok(elsewhere && elsewhere !== made && elsewhere !== next);
});

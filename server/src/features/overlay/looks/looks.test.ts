import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import sharp from 'sharp';
import { buildApp } from '../../../../test/build-app.ts';
import { makeCreator } from '../../../../test/factories.ts';
import { execute } from '../../../../test/sql.ts';
import { createVisitor, signedInVisitor } from '../../../../test/visitor.ts';
import { contrast, unreadable } from '../browser/contrast.ts';
import { fromSingleLook, toSingleLook, variationFor } from '../browser/variation.ts';
import { spokenLanguages } from '../browser/voice.ts';
import { toTyped } from './form.ts';
import { readyMade } from './rules.ts';
import { soundType } from './sounds.ts';

const home = '/dashboard/overlay/looks';

async function creatorAt(t: TestContext) {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const { overlays } = app.runtime;
  const csrf = async () => /name="csrf" value="([^"]+)"/.exec((await visitor.get(home)).body)?.[1] ?? '';

  /** Saves the variation from this amount with these fields and files changed. */
  async function save(
    fromMinor: number,
    fields: Record<string, string> = {},
    files: Record<string, Uint8Array<ArrayBuffer>> = {},
    token?: string,
  ) {
    const { draft } = await overlays.looks.get(creatorId);
    const typed = toTyped(draft.find((each) => each.fromMinor === fromMinor) ?? draft[0] ?? assert.fail());
    const body = new FormData();
    const { remove_picture: _, ...kept } = typed;
    for (const [name, value] of Object.entries({ csrf: token ?? (await csrf()), ...kept, ...fields }))
      body.set(name, value);
    for (const [name, bytes] of Object.entries(files)) body.set(name, new Blob([bytes]), `${name}.bin`);
    const request = new Request('http://x/', { method: 'POST', body });
    const cookie = [...visitor.cookies].map((pair) => pair.join('=')).join('; ');
    return app.http.inject({
      method: 'POST',
      url: `${home}/${fromMinor}`,
      headers: {
        cookie,
        accept: 'text/html',
        'accept-language': 'en',
        origin: app.runtime.config.authUrl,
        'content-type': request.headers.get('content-type') ?? '',
      },
      payload: Buffer.from(await request.arrayBuffer()),
    });
  }

  const key = await overlays.key(creatorId);
  const state = async () => (await app.http.inject({ url: `/overlay/${key}/state` })).json().settings;
  const fileIds = async () =>
    (await app.runtime.db.all<{ id: string }>('SELECT id FROM overlay_files ORDER BY id')).map(({ id }) => id);
  const looks = () => overlays.looks.get(creatorId);
  return { ...app, creatorId, visitor, save, state, fileIds, looks, key };
}

const picture = async () =>
  new Uint8Array(
    await sharp({ create: { width: 40, height: 20, channels: 4, background: 'red' } })
      .png()
      .toBuffer(),
  );
const wav = (length = 100) =>
  new Uint8Array(Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEfmt '), Buffer.alloc(length)]));

test('an engine’s voices of other names keep none of the others from being told', (t) => {
  const voices = ['en-US', 'th_TH', 'piqd', 'x-klingon', '', 'cmn-latn-pinyin', 'EN-GB'].map((lang) => ({ lang }));
  Object.defineProperty(globalThis, 'speechSynthesis', { value: { getVoices: () => voices }, configurable: true });
  t.after(() => Reflect.deleteProperty(globalThis, 'speechSynthesis'));
  assert.deepEqual(spokenLanguages(), ['cmn', 'en', 'th'], 'what the server takes');
});

test('a form of a look that another page has removed changes no other look', async (t) => {
  const { save, looks, visitor } = await creatorAt(t);
  await visitor.get(home);
  await visitor.post(`${home}/add`, { amount: '100' });
  await visitor.post(`${home}/10000/remove`);
  const before = (await looks()).draft;
  const answer = await save(10_000, { template: 'for large tips {name}' });
  assert.deepEqual([answer.statusCode, answer.headers.location], [303, home]);
  assert.deepEqual((await looks()).draft, before);
});

test('settings from before are the first look, and pages from before get what they know', async (t) => {
  const { runtime, creatorId, state, looks } = await creatorAt(t);
  const before = {
    minimumMinor: 500,
    seconds: 9,
    position: 'top',
    accent: '#00ff00',
    text: '#eeeeee',
    background: '#101010',
    template: 'ขอบคุณ {name}',
    sound: 'coin',
    volume: 33,
    maxAgeMinutes: 7,
  };
  await execute(runtime.db, 'UPDATE overlays SET settings = $2 WHERE creator_id = $1', [
    creatorId,
    JSON.stringify(before),
  ]);
  const { voice, variations, ...known } = await state();
  assert.deepEqual(known, before);
  assert.equal(voice.on, false);
  assert.equal(variations.length, 1);
  const [first] = (await looks()).draft;
  assert.deepEqual(first, variations[0]);
  assert.deepEqual(
    [first?.fromMinor, first?.template, first?.position, first?.sound, first?.seconds],
    [0, 'ขอบคุณ {name}', 'top', 'coin', 9],
  );
});

test('a draft changes nothing on streams until it is published, and the last version comes back', async (t) => {
  const { visitor, state, save, looks } = await creatorAt(t);
  const before = await state();
  assert.equal((await visitor.post(`${home}/add`, { amount: '100' })).headers.location, `${home}?from=10000`);
  assert.equal((await save(10_000, { template: 'WOW {name}', position: 'left', seconds: '12' })).statusCode, 303);
  assert.deepEqual(await state(), before);
  assert.equal((await visitor.post(`${home}/publish`)).statusCode, 303);
  const published = await state();
  assert.deepEqual(
    published.variations.map(({ fromMinor, template }: { fromMinor: number; template: string }) => [
      fromMinor,
      template,
    ]),
    [
      [0, '{name} {amount}'],
      [10_000, 'WOW {name}'],
    ],
  );
  assert.equal(published.template, '{name} {amount}', 'pages from before show the first look');
  assert.equal(variationFor(published, 9_999).template, '{name} {amount}');
  assert.equal(variationFor(published, 10_000).template, 'WOW {name}');

  await visitor.post(`${home}/ready/arcade`);
  await visitor.post(`${home}/discard`);
  assert.equal((await looks()).changed, false);
  assert.deepEqual(await state(), published);

  await visitor.post(`${home}/ready/arcade`);
  assert.equal((await visitor.post(`${home}/restore`)).statusCode, 303);
  assert.deepEqual((await state()).variations, before.variations);
  assert.equal((await looks()).changed, true, 'the draft stays');
  await visitor.post(`${home}/restore`);
  assert.deepEqual((await state()).variations, published.variations);
});

test('there are at most ten looks, each from an amount of its own, and the first is for all', async (t) => {
  const { visitor, save, looks } = await creatorAt(t);
  for (let i = 1; i <= 12; i++) await visitor.post(`${home}/add`, { amount: `${i}0` });
  for (const amount of ['10', '0', '-1', 'x', '1.234']) await visitor.post(`${home}/add`, { amount });
  const amounts = async () => (await looks()).draft.map(({ fromMinor }) => fromMinor);
  assert.deepEqual(await amounts(), [0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000]);
  const taken = await save(2000, { from: '30' });
  assert.equal(taken.statusCode, 422);
  assert.match(taken.body, /id="field-from-error">Another look/);
  assert.equal((await save(2000, { from: '25.50' })).headers.location, `${home}?from=2550`);
  await save(0, { from: '999' });
  await visitor.post(`${home}/0/remove`);
  await visitor.post(`${home}/3000/remove`);
  assert.deepEqual(await amounts(), [0, 1000, 2550, 4000, 5000, 6000, 7000, 8000, 9000]);
});

const wrongs: [string, string][] = [
  ['template', ' '],
  ['template', 'x'.repeat(101)],
  ['template', '\u202e{name}'],
  ['size', '59'],
  ['size', '201'],
  ['seconds', '1'],
  ['seconds', '61'],
  ['accent', 'red'],
  ['text', '#12345'],
  ['background', 'url(x)'],
  ['sound', 'fil_x'],
  ['card', 'x'],
  ['shadow', 'x'],
  ['entrance', 'x'],
  ['exit', 'x'],
];

test('what is wrong is told beside its field, and nothing is changed', async (t) => {
  const { save, looks } = await creatorAt(t);
  for (const [name, value] of wrongs) {
    const refused = await save(0, { [name]: value });
    assert.equal(refused.statusCode, 422, `${name} ${value}`);
    assert.match(refused.body, new RegExp(`id="field-${name}-error"`), `${name} ${value}`);
  }
  for (const [name, value] of [
    ['font', 'x'],
    ['position', 'x'],
  ] as const)
    assert.equal((await save(0, { [name]: value })).statusCode, 422, name);
  assert.match((await save(0, { sound: 'own' })).body, /id="field-sound_file-error"/);
  assert.equal((await looks()).changed, false);
});

test('security 45: pictures are encoded anew, sounds are what their bytes say, both are served sandboxed', async (t) => {
  const { save, looks, http, fileIds } = await creatorAt(t);
  const frames = Buffer.concat([
    Buffer.alloc(30 * 30 * 3, 10),
    Buffer.alloc(30 * 30 * 3, 120),
    Buffer.alloc(30 * 30 * 3, 250),
  ]);
  const gif = await sharp(frames, { raw: { width: 30, height: 90, channels: 3, pageHeight: 30 } })
    .gif({ delay: [100, 100, 100] })
    .toBuffer();
  const hidden = Buffer.concat([gif, Buffer.from('<script>second file</script>')]);
  assert.equal((await save(0, {}, { picture_file: new Uint8Array(hidden), sound_file: wav() })).statusCode, 303);
  const [first] = (await looks()).draft;
  const served = await http.inject({ url: `/overlay-files/${first?.picture}` });
  const { format, pages } = await sharp(served.rawPayload).metadata();
  assert.deepEqual([served.headers['content-type'], format, pages], ['image/webp', 'webp', 3], 'it still moves');
  assert.ok(!served.rawPayload.includes('second file'));
  const sound = await http.inject({ url: `/overlay-files/${first?.sound}` });
  assert.equal(sound.headers['content-type'], 'audio/wav');
  for (const { headers } of [served, sound]) {
    assert.equal(headers['content-security-policy'], "default-src 'none'; sandbox");
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['set-cookie'], undefined);
  }
  const text = new Uint8Array(Buffer.from('<!doctype html><script>x</script>'));
  const refused: [Record<string, Uint8Array<ArrayBuffer>>, number, RegExp][] = [
    [{ picture_file: text }, 422, /field-picture_file-error">This is not a PNG/],
    [{ sound_file: text }, 422, /field-sound_file-error">This is not an MP3/],
    [{ picture_file: wav() }, 422, /This is not a PNG/],
    [{ sound_file: await picture() }, 422, /This is not an MP3/],
    [{ sound_file: wav(2_000_001) }, 422, /larger than 2 MB/],
    [{ picture_file: new Uint8Array(5_000_001) }, 422, /larger than 5 MB/],
    [{ picture_file: new Uint8Array(7_500_000) }, 413, /too large/],
  ];
  for (const [files, status, words] of refused) {
    const answer = await save(0, {}, files);
    assert.equal(answer.statusCode, status, String(words));
    assert.match(answer.body, words);
  }
  assert.equal((await fileIds()).length, 2);
  for (const path of ['fil_x', `fil_${'0'.repeat(26)}`, '%00'])
    assert.equal((await http.inject({ url: `/overlay-files/${path}` })).statusCode, 404, path);
});

/** Every frame shows one small tile of noise many times: a hundredth of what it takes where only pixels count. */
async function growing(): Promise<Uint8Array<ArrayBuffer>> {
  const [edge, frames, tile] = [800, 10, 32];
  const line = tile * 3;
  const noise = randomBytes(tile * line);
  const pixels = Buffer.alloc(edge * edge * frames * 3);
  for (let at = 0, y = 0; y < edge * frames; y++) {
    const from = ((y + Math.floor(y / edge) * 7) % tile) * line;
    for (let x = 0; x < edge; x += tile) at += noise.copy(pixels, at, from, from + line);
  }
  const raw = { width: edge, height: edge * frames, channels: 3, pageHeight: edge } as const;
  return new Uint8Array(await sharp(pixels, { raw }).webp({ lossless: true, effort: 0 }).toBuffer());
}

test('a small picture that would be stored as a large one is refused', async (t) => {
  const { save, fileIds } = await creatorAt(t);
  const picture = await growing();
  // On a busy machine it would be refused for the time that it takes.
  t.mock.method(sharp.prototype, 'timeout', function (this: unknown) {
    return this;
  });
  assert.ok(picture.length < 500_000);
  const answer = await save(0, {}, { picture_file: picture });
  assert.equal(answer.statusCode, 422);
  assert.match(answer.body, /field-picture_file-error">Prepared for overlays, this picture is larger than 5 MB/);
  assert.deepEqual(await fileIds(), []);
});

test('a file lives as long as a look uses it', async (t) => {
  const { save, visitor, fileIds, looks } = await creatorAt(t);
  await save(0, {}, { picture_file: await picture() });
  const [one] = await fileIds();
  await save(0, {}, { picture_file: await picture() });
  const [two, ...none] = await fileIds();
  assert.notEqual(two, one, 'the draft’s own picture is replaced');
  assert.deepEqual(none, []);
  await visitor.post(`${home}/publish`);
  await save(0, { remove_picture: 'on' });
  assert.deepEqual(await fileIds(), [two], 'it is published');
  await visitor.post(`${home}/publish`);
  assert.deepEqual(await fileIds(), [two], 'it can come back');
  await save(0, { seconds: '7' });
  await visitor.post(`${home}/publish`);
  assert.deepEqual(await fileIds(), []);
  assert.equal((await looks()).published[0]?.picture, null);
});

test('files are bounded for each creator, and large forms are counted', async (t) => {
  const { save, visitor, runtime, creatorId, clock, fileIds } = await creatorAt(t);
  const { looks } = runtime.overlays;
  const files = Array.from({ length: 40 }, (_, index) => ({
    id: `fil_${String(index).padStart(26, '0')}`,
    type: 'audio/wav',
    bytes: wav(),
  }));
  const [first] = (await looks.get(creatorId)).draft;
  assert.ok(first);
  const using = (ids: readonly string[]) => ids.map((sound, index) => ({ ...first, fromMinor: index, sound }));
  await looks.edit(creatorId, () => using(files.map(({ id }) => id)), files);
  assert.equal((await fileIds()).length, 40);
  const full = await save(0, {}, { picture_file: await picture() });
  assert.match(full.body, /field-picture_file-error">Your pictures and sounds are too many/);
  await visitor.post(`${home}/discard`);
  assert.deepEqual(await fileIds(), []);
  const large = [60_000_000 - 1000, 2000].map((size, index) => ({
    id: `fil_${String(index).padStart(26, 'a')}`,
    type: 'audio/wav',
    bytes: new Uint8Array(size),
  }));
  const ids = large.map(({ id }) => id);
  await assert.rejects(
    looks.edit(creatorId, () => using(ids), large),
    /too_many/,
  );
  assert.deepEqual(await fileIds(), []);
  const sound = { sound_file: wav(70_000) };
  for (let i = 0; i < 10; i++) assert.equal((await save(0, {}, sound)).statusCode, 303);
  const refused = await save(0, {}, sound);
  assert.equal(refused.statusCode, 429);
  assert.equal((await save(0, { seconds: '5' })).statusCode, 303, 'a form without a file is not an upload');
  clock.advance(60_000);
  assert.equal((await save(0, {}, sound)).statusCode, 303);
});

test('changes made at the same time all count, however many', async (t) => {
  const { runtime, creatorId, looks } = await creatorAt(t);
  await runtime.overlays.looks.edit(creatorId, ([first]) => first && [{ ...first, size: 3 }]);
  let decided = 0;
  const larger = () =>
    runtime.overlays.looks.edit(creatorId, ([first]) => {
      decided += 1;
      return first && [{ ...first, size: first.size + 1 }];
    });
  await Promise.all(Array.from({ length: 50 }, larger));
  assert.equal((await looks()).draft[0]?.size, 53);
  assert.equal(decided, 50, 'none began anew');
});

test('security 5: looks need this session, its token and our origin; another creator sees none of it', async (t) => {
  const app = await creatorAt(t);
  const { visitor, save, looks, http } = app;
  await visitor.post(`${home}/ready/letter`);
  const before = await looks();
  for (const path of ['publish', 'discard', 'restore', 'add', 'ready/market', '0/remove']) {
    assert.equal((await visitor.post(`${home}/${path}`, { csrf: 'x', amount: '5' })).statusCode, 403, path);
    const foreign = await visitor.post(`${home}/${path}`, { amount: '5' }, { origin: 'https://evil.example' });
    assert.equal(foreign.statusCode, 403, path);
  }
  assert.equal((await save(0, {}, {}, 'x')).statusCode, 403);
  assert.deepEqual(await looks(), before);
  const other = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  assert.doesNotMatch((await other.get(home)).body, /data-variations="[^"]*mali/);
  assert.equal((await createVisitor(app).get(home)).statusCode, 303);
  const body = Buffer.alloc(4_000_000);
  const headers = { origin: app.runtime.config.authUrl, 'content-type': 'multipart/form-data; boundary=x' };
  assert.equal((await http.inject({ method: 'POST', url: `${home}/0`, headers, payload: body })).statusCode, 303);
});

test('the page says what is hard to read', async (t) => {
  const { visitor, save } = await creatorAt(t);
  assert.match((await visitor.get(home)).body, /class="contrast good">Easy to read/);
  await save(0, { text: '#777777', background: '#666666' });
  assert.match((await visitor.get(home)).body, /class="contrast poor">The text is hard to read: .* is 1\.3,/);
  await save(0, { card: 'none', shadow: 'soft' });
  assert.match((await visitor.get(home)).body, /class="contrast poor">Without a card/);
});

test('contrast is computed as WCAG does, and every ready-made look is easy to read', () => {
  assert.equal(contrast('#000000', '#ffffff').toFixed(1), '21.0');
  assert.equal(contrast('#767676', '#ffffff').toFixed(2), '4.54');
  for (const [name, look] of Object.entries(readyMade)) assert.deepEqual(unreadable(look), [], name);
  const glass = { accent: '#ffffff', text: '#777777', background: '#000000', card: 'glass', shadow: 'none' } as const;
  assert.deepEqual(
    unreadable(glass).map(({ field }) => field),
    ['text'],
  );
});

test('a look goes to the single look of earlier pages and back', () => {
  const single = toSingleLook({ ...fromSingleLook(toSingleLook(sample)), position: 'bottom-left', sound: 'fil_x' });
  assert.deepEqual([single.position, single.sound], ['bottom', 'chime']);
  assert.equal(toSingleLook({ ...sample, position: 'right' }).position, 'middle');
});

const sample = fromSingleLook({
  seconds: 6,
  position: 'bottom',
  accent: '#ffb454',
  text: '#ffffff',
  background: '#1d1a27',
  template: '{name}',
  sound: 'drop',
});

test('the kind of a sound is told by its bytes', () => {
  const cases: [number[] | string, string | undefined][] = [
    ['OggS\0x', 'audio/ogg'],
    ['RIFF1234WAVEfmt ', 'audio/wav'],
    ['RIFF1234WEBPVP8 ', undefined],
    ['ID3\x04\0', 'audio/mpeg'],
    [[0xff, 0xfb, 0x90, 0x64], 'audio/mpeg'],
    [[0xff, 0xff, 0xff, 0xff], undefined],
    [[0xff, 0xd8, 0xff, 0xe0], undefined],
    ['<html>', undefined],
    ['', undefined],
  ];
  for (const [bytes, type] of cases) {
    const file = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Uint8Array.from(bytes);
    assert.equal(soundType(file), type, String(bytes));
  }
});

test('the overlay tells whether its browser can read aloud, and repeats write nothing', async (t) => {
  const { http, key, visitor, runtime, creatorId } = await creatorAt(t);
  const instance = '01234567-89ab-cdef-0123-456789abcdef';
  const tell = (languages: unknown) =>
    http.inject({ method: 'POST', url: `/overlay/${key}/voices`, payload: { instance, languages } });
  const page = async () => (await visitor.get('/dashboard/overlay')).body;
  assert.match(await page(), /No overlay has said yet/);
  assert.equal((await tell([])).statusCode, 200);
  assert.match(await page(), /has no voices/);
  await tell(['en', 'th', 'en']);
  assert.match(await page(), /can read English, Thai\./);
  assert.deepEqual(await runtime.overlays.looks.voices(creatorId), ['en', 'th']);
  await tell(['de']);
  assert.match(await page(), /can read German\. It has no Thai voice/);
  for (const bad of [['x'], ['<b>'], 'en', Array(61).fill('en')]) assert.equal((await tell(bad)).statusCode, 422);
});

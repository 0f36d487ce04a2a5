import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import { until } from '../../../sdk/test/until.ts';
import { createApp } from '../../src/app.ts';
import { durationText } from '../../src/cli/progress.ts';
import { readConfig } from '../../src/config.ts';
import { builtInSounds, motions, positions } from '../../src/features/overlay/browser/variation.ts';
import { createLog } from '../../src/platform/log.ts';
import { createRuntime, type Runtime } from '../../src/runtime.ts';
import { launch } from '../browser/launch.ts';
import { makeCreator } from '../factories.ts';
import { freePort } from '../free-port.ts';
import { type Bound, type Growth, growthWithin } from './memory.ts';
import { type PageSample, processBytes, watchPage } from './page-sample.ts';
import type { Scope } from './scope.ts';

export interface OverlayOptions {
  readonly scope: Scope;
  readonly directory: string;
  /** How many samples are taken. */
  readonly samples: number;
  /** Alerts before each sample. */
  readonly alerts: number;
  /** From one alert to the next, at least. */
  readonly paceMs: number;
  /** How long an alert stays. */
  readonly seconds: number;
  readonly progress: (text: string) => void;
}

interface Sample extends PageSample {
  /** Of all renderers of the page's browser. */
  readonly rss: number;
}

export interface OverlayReport {
  readonly alerts: number;
  readonly seconds: number;
  readonly broken: readonly string[];
  readonly pages: readonly { page: string; growth: readonly Growth<keyof Sample>[]; samples: readonly Sample[] }[];
}

const MiB = 1024 * 1024;

/**
 * Nodes, listeners and documents are counted exactly after a collection, so a few alerts tell: an alert that leaves one
 * behind is found after ten. What a heap, a process and a processor need varies, so they need half an hour.
 */
const bounds: Record<keyof Sample, Bound> = {
  nodes: { share: 0, more: 8, fewest: 5 },
  listeners: { share: 0, more: 8, fewest: 5 },
  documents: { share: 0, more: 1, fewest: 5 },
  heap: { share: 0.05, more: 0.5 * MiB, fewest: 30 },
  rss: { share: 0.1, more: 16 * MiB, fewest: 30 },
  msPerAlert: { share: 0.25, more: 5, fewest: 30 },
};

const widgets = ['goal', 'latest?count=10', 'top?period=all&count=10', 'total?period=month'];
const autoplay = ['--autoplay-policy=no-user-gesture-required'];

/** Alerts of all kinds for an overlay page and all widgets, whose memory and processor time are sampled meanwhile. */
export async function runOverlay(options: OverlayOptions): Promise<OverlayReport> {
  const { scope, samples, alerts, paceMs, progress } = options;
  const started = performance.now();
  const { runtime, address } = await serve(options);
  const { creatorId } = await makeCreator(runtime);
  await configureLooks(runtime, creatorId, options.seconds);
  await runtime.goals.add(creatorId, {
    title: 'ไมค์ใหม่',
    targetMinor: 100_000_000,
    startsAt: runtime.clock(),
    endsAt: null,
  });
  await fillLists(runtime, creatorId);
  const key = await runtime.overlays.key(creatorId);
  const open = async (browser: Browser, path: string) => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
    await page.addInitScript(fakeVoices);
    await page.goto(`${address}/overlay/${key}${path}`);
    return { path: path || 'overlay', browser, watched: await watchPage(page), samples: [] as Sample[] };
  };
  const [first, second] = [await launch(scope, autoplay), await launch(scope)];
  const overlay = await open(first, '');
  const pages = [overlay];
  for (const widget of widgets) pages.push(await open(second, `/${widget}`));
  const { streams } = runtime;
  await until('all are connected', () => streams.connected(creatorId, 'overlay') === 1);
  await until('all are connected', () => streams.connected(creatorId, 'widget') === widgets.length);

  let shown = 0;
  const play = createAlerts(runtime, creatorId);
  for (let sample = 0; sample < samples; sample += 1) {
    for (let alert = 0; alert < alerts; alert += 1) {
      const next = sleep(paceMs);
      const last = await play(shown++);
      await until('it was shown, and is gone', () => overlay.watched.value(hasShown(creatorId, last)));
      await next;
    }
    for (const page of pages) {
      const rss = await processBytes(page.browser);
      page.samples.push({ ...(await page.watched.sample(alerts)), rss });
    }
    progress(`overlay: ${durationText(Math.round((performance.now() - started) / 1000))}, ${shown} alerts`);
  }
  const measured = pages.map(({ path, samples }) => ({ page: path, growth: growthWithin(samples, bounds), samples }));
  const broken = measured.flatMap(({ page, growth }) =>
    growth.flatMap(({ kind, first, last, verdict }) =>
      verdict === 'grows' ? `${page}: ${kind} grows from ${figure(kind, first)} to ${figure(kind, last)}` : [],
    ),
  );
  return { alerts: shown, seconds: Math.round((performance.now() - started) / 1000), broken, pages: measured };
}

async function serve({ scope, directory }: OverlayOptions) {
  const port = await freePort();
  const config = readConfig({
    PORT: String(port),
    LOG_LEVEL: 'silent',
    SECRET_KEY: 'a key that only this proof knows',
    DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}`,
  });
  const runtime = await createRuntime(config, { writingThread: true, log: createLog({ level: 'silent' }) });
  scope.after(runtime.close);
  const { http } = createApp(runtime);
  await http.listen({ port, host: '127.0.0.1' });
  scope.after(() => http.close());
  return { runtime, address: config.authUrl };
}

const bahtSteps = [0, 20, 50, 100, 200, 300, 500, 700, 1000, 5000];

/** Ten looks: every motion, position and sound, pictures that move and that do not, and the voice. */
async function configureLooks({ overlays }: Runtime, creatorId: string, seconds: number): Promise<void> {
  const { settings } = await overlays.get(creatorId);
  const voice = { on: true, fromMinor: 5000, length: 100 };
  await overlays.saveSettings(creatorId, { ...settings, seconds, voice });
  const colours = ['orange', 'teal', 'purple'];
  const still = (background: string) =>
    sharp({ create: { width: 400, height: 300, channels: 3, background } })
      .png()
      .toBuffer();
  const frames = await Promise.all(colours.map(still));
  const moving = await sharp(frames, { join: { animated: true } })
    .gif({ delay: [100, 100, 100] })
    .toBuffer();
  const pictures = await Promise.all(
    [...frames, moving].map((bytes) => overlays.looks.upload(creatorId, { kind: 'picture', bytes })),
  );
  const sound = await overlays.looks.upload(creatorId, { kind: 'sound', bytes: beep() });
  const pick = <T>(from: readonly T[], index: number): T => from[index % from.length] as T;
  await overlays.looks.edit(
    creatorId,
    ([model]) =>
      model &&
      bahtSteps.map((baht, index) => ({
        ...model,
        fromMinor: baht * 100,
        seconds,
        picture: index % 3 === 2 ? null : pick(pictures, index).id,
        sound: index % 4 === 3 ? sound.id : pick(builtInSounds, index),
        position: pick(positions, index),
        entrance: pick(motions, index),
        exit: pick(motions, index + 1),
      })),
    [...pictures, sound],
  );
  await overlays.looks.publish(creatorId);
}

/** Half a second of a tone, as WAV. */
function beep(): Buffer {
  const [rate, length] = [8000, 4000];
  const wave = Buffer.alloc(44 + length);
  wave.write('RIFF', 0);
  wave.writeUInt32LE(36 + length, 4);
  wave.write('WAVEfmt ', 8);
  wave.writeUInt32LE(16, 16);
  wave.writeUInt16LE(1, 20);
  wave.writeUInt16LE(1, 22);
  wave.writeUInt32LE(rate, 24);
  wave.writeUInt32LE(rate, 28);
  wave.writeUInt16LE(1, 32);
  wave.writeUInt16LE(8, 34);
  wave.write('data', 36);
  wave.writeUInt32LE(length, 40);
  for (let i = 0; i < length; i += 1) wave[44 + i] = 128 + Math.round(90 * Math.sin(i / 3));
  return wave;
}

/** Lists that grow while they fill up are no leak. */
async function fillLists({ overlays, tips }: Runtime, creatorId: string): Promise<void> {
  for (let i = 0; i < 10; i += 1) {
    const fields = { amount: 90_000, name: `REGULAR ${i}`, displayName: null, message: 'always here' };
    const { tip } = await tips.record({ creatorId, app: null, ...fields });
    await overlays.skip(creatorId, tip.id);
  }
}

const messages = ['Great stream!', 'สู้ ๆ นะ เป็นกำลังใจให้เสมอ', null, 'ある日、とても', `${'long '.repeat(40)}`, '😂😂😂'];
const names = ['แอน', 'Bee', null, 'Somebody with a rather long name', 'น้ำใจ'];

const showing = new Set(['tip.created', 'alert.test', 'alert.replayed']);

/** For the page: it has handled the event of this sequence, and its screen is empty. */
const hasShown = (creatorId: string, sequence: number): string =>
  `JSON.parse(localStorage.getItem('overlay:${creatorId}:0')).sequence >= ${sequence} && !document.querySelector('.alert')`;

/**
 * Plays the alert of a number: a tip, now and then skipped, voided or played again, or a test. Returns the sequence of
 * the last event that is shown.
 */
function createAlerts({ overlays, tips, events }: Runtime, creatorId: string) {
  let seen = 0;
  const lastShown = async (): Promise<number> => {
    const added = (await events.after(creatorId, seen, 1000)).map(({ body }) => JSON.parse(body));
    seen = added.findLast(({ type }) => showing.has(type))?.sequence ?? seen;
    return seen;
  };
  return async (number: number): Promise<number> => {
    if (number % 7 === 6) {
      await overlays.sendTest(creatorId);
      return lastShown();
    }
    const { tip } = await tips.record({
      creatorId,
      app: null,
      amount: (bahtSteps[number % bahtSteps.length] ?? 0) + 10,
      name: `TIPPER ${number % 100}`,
      displayName: names[number % names.length] ?? null,
      message: messages[number % messages.length] ?? null,
    });
    await until('it is shown', async () => (await tips.byId(creatorId, tip.id)).alert.status === 'shown');
    if (number % 5 === 2) await overlays.skip(creatorId, tip.id);
    if (number % 11 === 4) await tips.void(creatorId, tip.id, { clientId: null, reason: null });
    else if (number % 13 === 8) await overlays.replayTip(creatorId, tip.id);
    return lastShown();
  };
}

/** In place of the browser's voices, which a machine for tests has not. */
const fakeVoices = `
  const engine = {
    getVoices: () => ['en-US', 'th-TH', 'ja-JP'].map((lang) => ({ lang, name: lang })),
    speak: (utterance) => setTimeout(() => utterance.onend?.(), 200),
    cancel() {},
    addEventListener() {},
  };
  Object.defineProperty(globalThis, 'speechSynthesis', { value: engine });
  globalThis.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; } };`;

function figure(kind: keyof Sample, value: number): string {
  if (kind === 'heap' || kind === 'rss') return `${(value / MiB).toFixed(2)} MiB`;
  return kind === 'msPerAlert' ? `${value.toFixed(1)} ms` : String(value);
}

export function overlayText({ alerts, seconds, broken, pages }: OverlayReport): string {
  const verdict = broken.length > 0 ? `BROKEN:\n  ${broken.join('\n  ')}` : 'It holds.';
  const lines = pages.flatMap(({ page, growth }) =>
    growth.map(
      ({ kind, first, last, verdict }) =>
        `  ${page.padEnd(24)} ${kind.padEnd(11)} ${figure(kind, first).padStart(12)} → ${figure(kind, last).padStart(12)}  ${verdict}`,
    ),
  );
  return `${alerts} alerts in ${durationText(seconds)}. Medians of the first and the last third:\n${lines.join('\n')}\n\n${verdict}`;
}

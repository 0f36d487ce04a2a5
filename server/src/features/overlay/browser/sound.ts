import type { OverlaySettings, Sound } from '../settings.ts';

interface Note {
  readonly hertz: number;
  /** The frequency at the end, for a gliding tone. */
  readonly to?: number;
  readonly at: number;
  readonly seconds: number;
  readonly wave?: OscillatorType;
}

/** Synthesized, so that an alert has no file to load. */
const tunes: Record<Sound, readonly Note[]> = {
  chime: [
    { hertz: 659.25, at: 0, seconds: 1.1 },
    { hertz: 830.61, at: 0.12, seconds: 1.1 },
    { hertz: 987.77, at: 0.24, seconds: 1.4 },
  ],
  drop: [{ hertz: 880, to: 220, at: 0, seconds: 0.35 }],
  coin: [
    { hertz: 987.77, at: 0, seconds: 0.1, wave: 'triangle' },
    { hertz: 1318.51, at: 0.09, seconds: 0.6, wave: 'triangle' },
  ],
  none: [],
};

let audio: AudioContext | undefined;
let everything: GainNode | undefined;
let volumeOfAll = 100;

/** The volume of everything, 0 to 100, also of what is playing. */
export function setVolume(volume: number): void {
  volumeOfAll = volume;
  if (everything) everything.gain.value = (volume / 100) ** 2;
}

/** Browsers may block sound until the page is clicked; OBS does not. */
export function playSound({ sound, volume }: Pick<OverlaySettings, 'sound' | 'volume'>): void {
  if (sound === 'none' || volume === 0) return;
  audio ??= new AudioContext();
  if (!everything) {
    everything = new GainNode(audio);
    everything.connect(audio.destination);
    setVolume(volumeOfAll);
  }
  if (audio.state === 'suspended') void audio.resume();
  for (const note of tunes[sound]) playNote(audio, everything, note, (volume / 100) ** 2 * 0.5);
}

function playNote(
  context: AudioContext,
  output: AudioNode,
  { hertz, to, at, seconds, wave = 'sine' }: Note,
  gainPeak: number,
): void {
  const start = context.currentTime + at;
  const tone = new OscillatorNode(context, { type: wave, frequency: hertz });
  const gain = new GainNode(context, { gain: 0 });
  if (to !== undefined) tone.frequency.exponentialRampToValueAtTime(to, start + seconds);
  gain.gain.setValueAtTime(0, start);
  gain.gain.linearRampToValueAtTime(gainPeak, start + 0.01);
  gain.gain.exponentialRampToValueAtTime(0.0001, start + seconds);
  tone.connect(gain).connect(output);
  tone.start(start);
  tone.stop(start + seconds);
}

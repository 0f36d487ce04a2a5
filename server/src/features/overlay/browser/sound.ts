import { type BuiltInSound, fileAddress, isBuiltIn } from './variation.ts';

interface Note {
  readonly hertz: number;
  /** The frequency at the end, for a gliding tone. */
  readonly to?: number;
  readonly at: number;
  readonly seconds: number;
  readonly wave?: OscillatorType;
}

/** Synthesized, so that an alert has no file to load. */
const tunes: Record<BuiltInSound, readonly Note[]> = {
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
  bell: [
    { hertz: 523.25, at: 0, seconds: 2.2 },
    { hertz: 1046.5, at: 0, seconds: 1.2 },
    { hertz: 1568, at: 0.01, seconds: 0.7 },
  ],
  fanfare: [
    { hertz: 523.25, at: 0, seconds: 0.2, wave: 'triangle' },
    { hertz: 659.25, at: 0.15, seconds: 0.2, wave: 'triangle' },
    { hertz: 783.99, at: 0.3, seconds: 0.25, wave: 'triangle' },
    { hertz: 1046.5, at: 0.48, seconds: 1.2, wave: 'triangle' },
  ],
  pop: [{ hertz: 320, to: 900, at: 0, seconds: 0.12 }],
  none: [],
};

let audio: AudioContext | undefined;
let masterGain: GainNode | undefined;
let masterVolume = 100;
/** The uploaded sounds that play, with their own volume. */
const files = new Map<HTMLAudioElement, number>();

/** The volume of everything, 0 to 100, also of what is playing. */
export function setVolume(volume: number): void {
  masterVolume = volume;
  if (masterGain) masterGain.gain.value = masterShare();
  for (const [player, own] of files) player.volume = own * masterShare();
}

/** From 0 to 1. */
export const masterShare = (): number => (masterVolume / 100) ** 2;

/**
 * Plays a built-in or an uploaded sound and returns a function that stops it. `address` leads elsewhere for a file that
 * is not uploaded yet. Browsers may block sound until the page is clicked; OBS does not.
 */
export function playSound(sound: string, volume: number, address = fileAddress(sound)): () => void {
  if (sound === 'none' || volume === 0) return () => {};
  const loudness = (volume / 100) ** 2;
  return isBuiltIn(sound) ? playTune(tunes[sound], loudness * 0.5) : playFile(address, loudness);
}

function playTune(tune: readonly Note[], gainPeak: number): () => void {
  audio ??= new AudioContext();
  if (!masterGain) {
    masterGain = new GainNode(audio);
    masterGain.connect(audio.destination);
    setVolume(masterVolume);
  }
  if (audio.state === 'suspended') void audio.resume();
  const [context, output] = [audio, masterGain];
  const tones = tune.map((note) => playNote(context, output, note, gainPeak));
  return () => {
    for (const tone of tones) tone.disconnect();
  };
}

function playNote(
  context: AudioContext,
  output: AudioNode,
  { hertz, to, at, seconds, wave = 'sine' }: Note,
  gainPeak: number,
): AudioNode {
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
  return gain;
}

function playFile(address: string, volume: number): () => void {
  const player = new Audio(address);
  player.volume = volume * masterShare();
  files.set(player, volume);
  player.addEventListener('ended', () => files.delete(player));
  // A file that cannot be loaded or played leaves the alert silent.
  player.play().catch(() => {});
  return () => {
    files.delete(player);
    player.pause();
    player.removeAttribute('src');
  };
}

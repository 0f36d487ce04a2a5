/** Uploaded sounds are kept as they are. Their kind is told by their first bytes, never by a name that came with them. */
export type SoundType = 'audio/mpeg' | 'audio/ogg' | 'audio/wav';

/** Nothing for any other kind of file. */
export function soundType(bytes: Uint8Array): SoundType | undefined {
  const start = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (start.startsWith('OggS\0')) return 'audio/ogg';
  if (start.startsWith('RIFF') && start.slice(8, 12) === 'WAVE') return 'audio/wav';
  return start.startsWith('ID3') || isMpegFrame(bytes) ? 'audio/mpeg' : undefined;
}

/** The header of an MPEG audio frame of layer III: its sync word and no reserved value (ISO/IEC 11172-3, 2.4.1.3). */
function isMpegFrame([first = 0, second = 0, third = 0]: Uint8Array): boolean {
  const sync = first === 0xff && (second & 0xe0) === 0xe0;
  const version = (second >> 3) & 3;
  const layer = (second >> 1) & 3;
  const bitrate = third >> 4;
  const rate = (third >> 2) & 3;
  return sync && version !== 1 && layer === 1 && bitrate !== 0 && bitrate !== 15 && rate !== 3;
}

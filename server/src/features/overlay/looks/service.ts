import type { Pictures } from '../../../platform/pictures.ts';
import type { Platform } from '../../../platform/platform.ts';
import { createWorkQueue } from '../../../platform/work-queue.ts';
import { readSettings } from '../settings.ts';
import * as repo from './repo.ts';
import { filesOf, maxFileBytes, maxFiles, pictureBytes, type Variations } from './rules.ts';
import { soundType } from './sounds.ts';

export interface LooksParts extends Pick<Platform, 'db' | 'clock' | 'newId'> {
  readonly pictures: Pictures;
  /** Creates the overlay on first use. */
  readonly ensure: (creatorId: string) => Promise<unknown>;
  /** Tells open pages that the published looks have changed. */
  readonly announce: (creatorId: string) => void;
}

export interface Looks {
  readonly published: Variations;
  /** What the next publishing would publish; the published looks while there is no draft. */
  readonly draft: Variations;
  readonly changed: boolean;
  readonly previous: Variations | null;
}

/** A file that a creator has chosen for a variation. */
export interface Upload {
  readonly kind: 'picture' | 'sound';
  readonly bytes: Uint8Array;
}

/** `picture_grown`: a small file of much detail is large once it is encoded anew. */
export type UploadProblem = 'sound_kind' | 'too_many' | 'picture_grown';

/** Why an upload is refused; a picture can also be refused with `PictureError`. */
export class UploadError extends Error {
  readonly problem: UploadProblem;
  constructor(problem: UploadProblem) {
    super(`the file is refused: ${problem}`);
    this.problem = problem;
  }
}

/** The longest edge of a picture, in pixels. */
const pictureEdge = 800;
/** On one node the changes of a creator are made one after the other. */
const changeQueueOptions = { atOnce: 16, atOnceOf: () => 1, maxWaiting: Number.POSITIVE_INFINITY };

type State = Omit<repo.LooksChange, 'added' | 'removed'>;

/** Reads and changes looks. Every change names the version that it read, and starts anew if there is a newer one. */
export function createLooks({ db, clock, newId, pictures, ensure, announce }: LooksParts) {
  const changes = createWorkQueue(changeQueueOptions);

  async function row(creatorId: string): Promise<repo.LooksRow> {
    await ensure(creatorId);
    const looks = await repo.looksOf(db, creatorId);
    if (!looks) throw new Error(`creator ${creatorId} has no overlay`);
    return looks;
  }

  function read({ settings, looks, looks_draft: draft, looks_previous: previous }: repo.LooksRow): Looks {
    const published = readSettings(settings, looks).variations;
    return {
      published,
      draft: draft === null ? published : JSON.parse(draft),
      changed: draft !== null,
      previous: previous === null ? null : JSON.parse(previous),
    };
  }

  const stateOf = (looks: Looks, draft: Variations | null): State => ({
    looks: JSON.stringify(looks.published),
    draft: draft && JSON.stringify(draft),
    previous: looks.previous && JSON.stringify(looks.previous),
  });

  /** `decide` answers the new state, or `undefined` to leave everything as it is. */
  const change = (
    creatorId: string,
    decide: (looks: Looks) => State | undefined,
    added: readonly repo.FileRow[] = [],
  ): Promise<boolean> => changes.run(creatorId, () => tryUntilChanged(creatorId, decide, added));

  /** Begins anew only when another node has changed the looks meanwhile. */
  async function tryUntilChanged(
    creatorId: string,
    decide: (looks: Looks) => State | undefined,
    added: readonly repo.FileRow[],
  ): Promise<boolean> {
    for (;;) {
      const current = await row(creatorId);
      const state = decide(read(current));
      if (!state) return false;
      const used = [state.looks, state.draft, state.previous].flatMap((json) =>
        json ? filesOf(JSON.parse(json)) : [],
      );
      const stored = await repo.fileSizes(db, creatorId);
      const kept = stored.filter(({ id }) => used.includes(id));
      const sizes = [...kept.map(({ size }) => size), ...added.map(({ bytes }) => bytes.length)];
      if (added.length > 0 && (sizes.length > maxFiles || sizes.reduce((a, b) => a + b) > maxFileBytes))
        throw new UploadError('too_many');
      const removed = stored.filter((file) => !kept.includes(file)).map(({ id }) => id);
      if (
        await db.write(repo.writes.changeLooks, creatorId, current.looks_version, { ...state, added, removed }, clock())
      )
        return true;
    }
  }

  async function toFile(creatorId: string, { kind, bytes }: Upload): Promise<repo.FileRow> {
    const id = newId('fil');
    if (kind === 'picture') {
      const picture = await pictures.encodeAnimated(creatorId, bytes, pictureEdge);
      if (picture.bytes.length > pictureBytes) throw new UploadError('picture_grown');
      return { id, ...picture };
    }
    const type = soundType(bytes);
    if (!type) throw new UploadError('sound_kind');
    return { id, type, bytes };
  }

  return {
    get: async (creatorId: string): Promise<Looks> => read(await row(creatorId)),

    /** Rejects with `PictureError`, `UploadError` or `QueueFull`. The file is stored with the draft that uses it. */
    upload: toFile,

    /** Changes the draft. Answers whether `edit` found something to change. */
    edit: (
      creatorId: string,
      edit: (draft: Variations) => Variations | undefined,
      added: readonly repo.FileRow[] = [],
    ): Promise<boolean> =>
      change(
        creatorId,
        (looks) => {
          const draft = edit(looks.draft);
          return draft && stateOf(looks, draft);
        },
        added,
      ),

    discard: (creatorId: string): Promise<boolean> =>
      change(creatorId, (looks) => (looks.changed ? stateOf(looks, null) : undefined)),

    async publish(creatorId: string): Promise<boolean> {
      const done = await change(creatorId, (looks) =>
        looks.changed
          ? { looks: JSON.stringify(looks.draft), draft: null, previous: JSON.stringify(looks.published) }
          : undefined,
      );
      if (done) announce(creatorId);
      return done;
    },

    /** Exchanges the published looks and those published before. A draft stays. */
    async restore(creatorId: string): Promise<boolean> {
      const done = await change(creatorId, (looks) =>
        looks.previous
          ? stateOf({ ...looks, published: looks.previous, previous: looks.published }, draftOf(looks))
          : undefined,
      );
      if (done) announce(creatorId);
      return done;
    },

    /** Returns nothing if its creator is suspended. */
    async file(id: string) {
      const info = await repo.fileInfo(db, id);
      return info && { ...info, read: () => repo.fileBytes(db, id) };
    },

    everChanged: async (creatorId: string): Promise<boolean> => (await row(creatorId)).looks_version > 0,

    /** The languages that the overlay's browser can read aloud; `null` if none has said. */
    async voices(creatorId: string): Promise<string[] | null> {
      const { voices } = await row(creatorId);
      return voices === null ? null : voices.split(' ').filter(Boolean);
    },

    async setVoices(creatorId: string, languages: readonly string[]): Promise<void> {
      const voices = [...new Set(languages)].sort().join(' ');
      if ((await row(creatorId)).voices !== voices) await db.write(repo.writes.setVoices, creatorId, voices);
    },
  };
}

const draftOf = ({ changed, draft }: Looks): Variations | null => (changed ? draft : null);

/** Months, days and readings of the clock in the platform's time zone, as instants. */
export interface Zone {
  readonly name: string;
  /** The month that holds this instant. `endsAt` is the next month's first instant. */
  month(ms: number): Month;
  /** The first instant of a calendar day; days past a month's end roll over. */
  startOfDay(year: number, month: number, day: number): number;
  /** What the clock on the wall reads, to the minute: `2026-11-15T11:00`, as a `datetime-local` field has it. */
  reading(ms: number): string;
  /**
   * The first instant of the minute that the clock reads so; the first minute of two where it is set back, the one
   * after the jump where it is set forward. Nothing if there is no such date or time of day.
   */
  instant(reading: string): number | undefined;
  /** The first instants of as many calendar days, of which the last one holds this instant; then where that one ends. */
  lastDays(ms: number, count: number): readonly number[];
  /** `2026-11-15T11:00:00.000+07:00` */
  local(ms: number): string;
}

export interface Month {
  /** `2026-11` */
  readonly key: string;
  readonly startsAt: number;
  readonly endsAt: number;
}

export function createZone(name: string): Zone {
  const format = new Intl.DateTimeFormat('en-US-u-ca-iso8601', {
    timeZone: name,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });

  /** The wall clock's reading at an instant, as if it were UTC. */
  function wallClock(ms: number): number {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(ms)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) + (((ms % 1000) + 1000) % 1000);
  }

  /** The first instant whose wall clock reads `wall` or later: where clocks jump over midnight, the jump itself. */
  function instantOf(wall: number): number {
    const guesses = [
      wall - (wallClock(wall - 86_400_000) - (wall - 86_400_000)),
      wall - (wallClock(wall + 86_400_000) - (wall + 86_400_000)),
    ];
    return Math.min(...guesses.filter((guess) => wallClock(guess) >= wall));
  }

  const startOfDay = (year: number, month: number, day: number) => instantOf(Date.UTC(year, month - 1, day));

  function instant(reading: string): number | undefined {
    const match = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::\d{2}(?:\.\d{1,3})?)?$/.exec(reading);
    const wall = match ? Date.parse(`${match[1]}T${match[2]}Z`) : Number.NaN;
    // A day past a month's end would roll over.
    if (Number.isNaN(wall) || new Date(wall).toISOString().slice(0, 10) !== match?.[1]) return undefined;
    return instantOf(wall);
  }

  let latestDays: readonly number[] = [];
  let latestOffset = { slot: Number.NaN, offset: 0 };

  /** Kept for the slot asked for last, because lists are in the order of time. Clocks change at quarters of an hour. */
  function offsetAt(ms: number): number {
    const slot = Math.floor(ms / 900_000);
    if (slot !== latestOffset.slot) latestOffset = { slot, offset: wallClock(ms) - ms };
    return latestOffset.offset;
  }

  let latest: Month = { key: '', startsAt: 0, endsAt: 0 };
  return {
    name,
    startOfDay,
    instant,
    reading: (ms) => new Date(wallClock(ms)).toISOString().slice(0, 16),
    lastDays(ms, count) {
      const [begin = 0, end = 0] = latestDays.slice(-2);
      if (latestDays.length === count + 1 && ms >= begin && ms < end) return latestDays;
      const wall = new Date(wallClock(ms));
      const first = wall.getUTCDate() - count + 1;
      latestDays = Array.from({ length: count + 1 }, (_, index) =>
        startOfDay(wall.getUTCFullYear(), wall.getUTCMonth() + 1, first + index),
      );
      return latestDays;
    },
    local(ms) {
      const offset = offsetAt(ms);
      const minutes = Math.abs(Math.round(offset / 60_000));
      const digits = (value: number) => String(value).padStart(2, '0');
      const sign = offset < 0 ? '-' : '+';
      return `${new Date(ms + offset).toISOString().slice(0, -1)}${sign}${digits(Math.floor(minutes / 60))}:${digits(minutes % 60)}`;
    },
    month(ms) {
      if (ms >= latest.startsAt && ms < latest.endsAt) return latest;
      const wall = new Date(wallClock(ms));
      const [year, month] = [wall.getUTCFullYear(), wall.getUTCMonth() + 1];
      latest = {
        key: `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`,
        startsAt: startOfDay(year, month, 1),
        endsAt: startOfDay(year, month + 1, 1),
      };
      return latest;
    },
  };
}

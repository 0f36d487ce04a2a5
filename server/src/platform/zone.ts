/** Calendar calculations in the platform's time zone. An instant is a number of milliseconds since 1970. */
export interface Zone {
  readonly name: string;
  /** The month of an instant. `endsAt` is the next month's first instant. */
  month(ms: number): Month;
  /** The first instant of a calendar day; days past a month's end roll over. */
  startOfDay(year: number, month: number, day: number): number;
  /** The local time to the minute, in the format of a `datetime-local` field: `2026-11-15T11:00`. */
  reading(ms: number): string;
  /**
   * The first instant of a local minute: the earlier one if the minute occurs twice (clocks set back), by the offset
   * before the jump if it does not occur (clocks set forward). Undefined if the text is no valid date and time.
   */
  instant(reading: string): number | undefined;
  /** The first instants of `count` calendar days, the last of which holds `ms`, followed by the end of the last day. */
  lastDays(ms: number, count: number): readonly number[];
  /** RFC 3339 with the zone's offset: `2026-11-15T11:00:00.000+07:00`. */
  local(ms: number): string;
}

interface Month {
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

  /** The local time of an instant, expressed as if it were UTC. */
  function wallClock(ms: number): number {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(ms)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) + (((ms % 1000) + 1000) % 1000);
  }

  /** The instant of a local time. If it occurs twice, the earlier one; if clocks jump over it, by the offset before. */
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
  let latestOffset = { quarter: Number.NaN, offset: 0 };

  /** Caches the last quarter of an hour, because lists are ordered by time. Clocks change at such quarters. */
  function offsetAt(ms: number): number {
    const quarter = Math.floor(ms / 900_000);
    if (quarter !== latestOffset.quarter) latestOffset = { quarter, offset: wallClock(ms) - ms };
    return latestOffset.offset;
  }

  let latestMonth: Month = { key: '', startsAt: 0, endsAt: 0 };
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
      if (ms >= latestMonth.startsAt && ms < latestMonth.endsAt) return latestMonth;
      const wall = new Date(wallClock(ms));
      const [year, month] = [wall.getUTCFullYear(), wall.getUTCMonth() + 1];
      latestMonth = {
        key: `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`,
        startsAt: startOfDay(year, month, 1),
        endsAt: startOfDay(year, month + 1, 1),
      };
      return latestMonth;
    },
  };
}

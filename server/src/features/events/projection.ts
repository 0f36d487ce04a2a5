/**
 * Events as overlays, widgets and connections get them. Invariants:
 *
 * - Words are only those that may be shown: `name` is `alert.name`, `display_name` is null, `message` is `alert.message`.
 * - A tip or an alert in an event of a type that this version does not know is not sent.
 * - A tip that is held, rejected or blocked is not sent. Its `tip.created` says so; `alert.approved` sends it later.
 * - Of a voided tip no words are sent, nor why it was voided: it may be one that was never shown.
 * - A rehearsal, which only sandbox creators have in their log, comes to overlays by frames of its own.
 * - Events stored before a field existed lack it. Readers take `display_name ?? name` and `message`.
 */
import type { StoredEvent } from './repo.ts';
import type { AlertStatus, Tip } from './schemas.ts';
import { screenTreatments } from './types.ts';

/** What screens show of a test alert; `held`: nothing. */
export interface ScreenedAlert {
  readonly held: boolean;
  readonly name: string;
  readonly message: string | null;
}

/** By the event object: whoever is sent the same read of an event shares its projection. */
const projections = new WeakMap<StoredEvent, StoredEvent | null>();

/** The event as screens get it, or `null` if they do not. */
export function forScreen(event: StoredEvent): StoredEvent | null {
  const known = projections.get(event);
  if (known !== undefined) return known;
  const projected = project(event);
  projections.set(event, projected);
  return projected;
}

function project(event: StoredEvent): StoredEvent | null {
  const body = JSON.parse(event.body);
  const { tip, alert } = body.data;
  if (!tip && !alert) return event;
  if (!screenTreatments.has(event.type)) return null;
  if (tip && event.type === 'alert.replayed' && body.test) return null;
  const data = tip ? projectTip(event.type, tip) : projectAlert(event, alert);
  return data && { ...event, body: JSON.stringify({ ...body, data }) };
}

type StoredTip = Omit<Tip, 'alert'> & {
  readonly alert: Pick<Tip['alert'], 'status' | 'shown_at'> & Partial<Tip['alert']>;
};

function projectTip(type: string, tip: StoredTip) {
  if (isWithheld(type, tip.alert.status)) return null;
  return screenTreatments.get(type) === 'no_words'
    ? { tip: { ...withWords(tip, { name: '', message: null }), void_reason: null } }
    : { tip: tipForScreen(tip) };
}

/** Whether screens do not get an event of this type about a tip, by the status of its alert. */
export const isWithheld = (type: string, status: AlertStatus | undefined): boolean =>
  screenTreatments.get(type) === 'words_if_queued' && status !== 'queued';

/** A tip that may be shown, with the words that may be shown. */
export const tipForScreen = (tip: StoredTip) => withWords(tip, wordsOf(tip));

const withWords = (tip: StoredTip, words: { readonly name: string; readonly message: string | null }) => ({
  ...tip,
  ...words,
  display_name: null,
  alert: { ...tip.alert, ...words },
});

function projectAlert({ screened }: StoredEvent, alert: { name: string; display_name: string | null }) {
  const shown: ScreenedAlert | null = JSON.parse(screened ?? 'null');
  if (shown?.held) return null;
  const words = shown ? { name: shown.name, message: shown.message } : { name: alert.display_name ?? alert.name };
  return { alert: { ...alert, ...words, display_name: null } };
}

/** The words of a tip or a test alert that may be shown, whether or not its alert is. */
export function shownWords({ body, screened }: StoredEvent): { name: string; message: string | null } {
  const { tip, alert } = JSON.parse(body).data;
  if (tip) return wordsOf(tip);
  const shown: ScreenedAlert | null = JSON.parse(screened ?? 'null');
  return shown
    ? { name: shown.name, message: shown.message }
    : { name: alert.display_name ?? alert.name, message: alert.message };
}

const wordsOf = ({ alert, name, display_name, message }: StoredTip) => ({
  name: alert.name ?? display_name ?? name,
  message: alert.message === undefined ? message : alert.message,
});

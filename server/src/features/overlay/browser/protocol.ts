/** What an overlay page and the server agree on. */

/** The version of the frames and event types that a page knows. An older page was opened before an upgrade. */
export const protocol = 3;

/** What a page did with an alert. `dropped`: the alert had been skipped before. */
export const outcomes = ['shown', 'below_minimum', 'expired', 'dropped'] as const;
export type Outcome = (typeof outcomes)[number];

/** The most acknowledgements of one request. */
export const maxAcks = 50;

/** The most languages that a page reports as spoken by its browser. */
export const maxLanguages = 60;

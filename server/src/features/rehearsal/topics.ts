/** Hints to nodes: a rehearsal waits. */
export const waitingTopic = 'rehearsals';

/** Hints to overlay connections: alerts were played, or the rehearsal is over. */
export const rehearsalTopic = (creatorId: string): string => `rehearsal:${creatorId}`;

/** Hints to those who watch the progress, about one a second. */
export const progressTopic = (creatorId: string): string => `rehearsal-progress:${creatorId}`;

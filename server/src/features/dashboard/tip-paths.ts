export const tipsHome = '/dashboard/tips';

export const tipPath = (id: string): string => `${tipsHome}/${id}`;

/** The form by which a creator enters a tip. */
export const newTipPath = '/dashboard/tips/new';

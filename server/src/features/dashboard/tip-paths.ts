export const tipsHome = '/dashboard/tips';

export const tipPath = (id: string): string => `${tipsHome}/${id}`;

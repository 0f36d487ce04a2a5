export const within = (value: number, least: number, most: number): boolean => value >= least && value <= most;

/** The errors of fields, without those that are right. */
export const defined = <Name extends string>(errors: { [N in Name]?: string | undefined }): { [N in Name]?: string } =>
  Object.fromEntries(Object.entries(errors).filter(([, error]) => error !== undefined)) as { [N in Name]?: string };

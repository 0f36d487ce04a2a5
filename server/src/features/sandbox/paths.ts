/** The list of sandbox creators. */
export const home = '/developers/sandbox';

/** The page of one of them. */
export const pathOf = ({ id }: { readonly id: string }): string => `${home}/${id}`;

export interface CreatorRoute {
  Params: { id: string };
}

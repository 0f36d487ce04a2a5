/** How often a test repeats what it tries at random: `npm run proof` asks for more than the usual number. */
export const rounds = (usual: number): number => Number(process.env.TEST_ROUNDS ?? usual);

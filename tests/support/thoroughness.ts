/**
 * How much of what could be tried is tried: with PROXWRIGHT_KILL_POINTS=all every point of a run and every seed, otherwise
 * a part of them, so that the whole suite stays a matter of minutes.
 */
export const IS_THOROUGH = process.env['PROXWRIGHT_KILL_POINTS'] === 'all';

/** Of points in a row: every one, or every so manieth. */
export const strideOf = (usual: number) => (IS_THOROUGH ? 1 : usual);

/** Of seeds: so many, or a part of them. */
export const seedsOf = (all: number, usual: number) => (IS_THOROUGH ? all : usual);

/** Where an upload is when its process is killed. At the first five it stands still; the others are under way. */
export const STEPS = [
  'begun',
  'first bytes',
  'all bytes',
  'durable',
  'recorded',
  'writing',
  'syncing',
  'recording',
] as const;

export type Step = (typeof STEPS)[number];

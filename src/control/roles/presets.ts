/** A choice of capabilities for a person. Nothing is stored of it but these. */
export interface Preset {
  readonly name: string;
  readonly capabilities: readonly string[];
  /** What the person may do, for whoever lets them in. */
  readonly may: string;
}

/** For people, from the least to the most. */
export const PRESETS: readonly Preset[] = [
  {
    name: 'Viewer',
    capabilities: ['login', 'view_delivery'],
    may: 'Sees what was sent and to whom, what was not, and why. Changes nothing.',
  },
  {
    name: 'Support',
    capabilities: ['login', 'view_delivery', 'repair_delivery'],
    may: 'Sees the same, sends emails again, and suppresses addresses or lets them get email again.',
  },
  {
    name: 'Editor',
    capabilities: ['login', 'select', 'edit_email'],
    may: 'Changes the wording of emails, but not who gets them, nor what they read. Previews them with rows that policy rules let the editor read.',
  },
  {
    name: 'Administrator',
    capabilities: ['login', 'admin'],
    may: 'Does almost everything in this tenant: only the root role chooses identity providers and lets anonymous clients in.',
  },
];

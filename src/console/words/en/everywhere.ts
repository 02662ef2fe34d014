/** Words that stand in many places. */

export const everywhere = {
  history: 'History',
  name: 'Name',
  password: 'Password',
  cancel: 'Cancel',
  required: 'required',
  secretKept: 'One is kept; empty: as it is.',
  secretHidden: 'Is never shown again.',
  loading: 'Loading…',
  copy: 'Copy',
  copied: 'Copied',
};

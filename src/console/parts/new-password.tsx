/** A new password, typed twice. */
import { InputField } from '../ui.tsx';
import { say } from '../words/index.ts';

const PASSWORD_LENGTH_MIN = 8;

/** Attributes of a control for a new password. */
export const NEW_PASSWORD = {
  type: 'password',
  minLength: PASSWORD_LENGTH_MIN,
  autocomplete: 'new-password',
} as const;

/** Hidden; it tells password managers whose password is typed below. */
export function WhosePassword({ name }: { name: string | undefined }) {
  return <input type="text" name="username" autocomplete="username" value={name} readOnly hidden />;
}

interface TypedTwice {
  password: string;
  repeated: string;
}

export const NOTHING_TYPED: TypedTwice = { password: '', repeated: '' };

export function differs({ password, repeated }: TypedTwice): boolean {
  return repeated !== '' && repeated !== password;
}

export function NewPassword({
  label,
  hint = '',
  prefix = '',
  typed,
  onTyped,
}: {
  label: string;
  /** Follows the least length. */
  hint?: string;
  /** Begins the names of the controls. */
  prefix?: string;
  typed: TypedTwice;
  /** By an update of the latest input: password managers fill in both at once. */
  onTyped: (change: (before: TypedTwice) => TypedTwice) => void;
}) {
  const bound = (name: keyof TypedTwice) => ({
    name: prefix + name,
    value: typed[name],
    onValue: (text: string) => onTyped((before) => ({ ...before, [name]: text })),
  });
  return (
    <>
      <InputField
        label={label}
        hint={say.frame.atLeastCharacters(PASSWORD_LENGTH_MIN, hint)}
        {...NEW_PASSWORD}
        {...bound('password')}
        required
      />
      <InputField
        label={say.frame.theSameAgain}
        hint={differs(typed) ? say.frame.theTwoDiffer : ''}
        {...NEW_PASSWORD}
        minLength={undefined}
        {...bound('repeated')}
        required
      />
    </>
  );
}

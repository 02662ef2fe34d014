/** The first page of a new box, shown until somebody claims it. */
import { useState } from 'preact/hooks';
import { differs, NewPassword, NOTHING_TYPED } from '../parts/new-password.tsx';
import { claim, lookForClaim } from '../session.ts';
import { Form, InputField, useAction, useRefresh } from '../ui.tsx';
import { say } from '../words/index.ts';
import { Gate, USER_NAME } from './sign-in.tsx';

const LOOK_EVERY_MS = 5_000;

export function ClaimPage() {
  const [code, setCode] = useState('');
  const [name, setName] = useState('installer');
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const action = useAction(() =>
    claim(code.trim(), name, typed.password).catch(async (error: unknown) => {
      await lookForClaim();
      throw error;
    }),
  );
  useRefresh(() => void lookForClaim(), LOOK_EVERY_MS);
  return (
    <Gate title={say.frame.claimTitle}>
      <p>{say.frame.claimText(<code>claim-code</code>)}</p>
      <Form action={action} submit={say.frame.claimSubmit} isIncomplete={differs(typed)} isKept>
        <InputField
          label={say.frame.claimCode}
          value={code}
          onValue={setCode}
          name="claim_code"
          required
          autofocus
          autocomplete="off"
          autocapitalize="characters"
          spellcheck={false}
          placeholder="XXXX-XXXX-XXXX"
        />
        <InputField
          label={say.everywhere.userName}
          hint={say.frame.yourNameHint}
          value={name}
          onValue={setName}
          {...USER_NAME}
        />
        <NewPassword label={say.frame.newPassword} typed={typed} onTyped={setTyped} />
      </Form>
    </Gate>
  );
}

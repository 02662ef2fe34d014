/** The first page of a new box, which nobody sees a second time. */
import { useState } from 'preact/hooks';
import { differs, NewPassword, NOTHING_TYPED } from '../parts/new-password.tsx';
import { claim } from '../session.ts';
import { Field, Form, Input, useAction } from '../ui.tsx';
import { say } from '../words/index.ts';
import { Gate, NameField } from './sign-in.tsx';

export function ClaimPage() {
  const [code, setCode] = useState('');
  const [name, setName] = useState('installer');
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const action = useAction(() => claim(code.trim(), name, typed.password));
  return (
    <Gate title={say.frame.claimTitle}>
      <p>{say.frame.claimText(<code>claim-code</code>)}</p>
      <Form action={action} submit={say.frame.claimSubmit} isIncomplete={differs(typed)} isKept>
        <Field label={say.frame.claimCode}>
          <Input
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
        </Field>
        <NameField name={name} onName={setName} label={say.frame.yourName} hint={say.frame.yourNameHint} />
        <NewPassword label={say.frame.newPassword} typed={typed} onTyped={setTyped} />
      </Form>
    </Gate>
  );
}

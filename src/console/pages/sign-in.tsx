/** The first page of a new box, and the login of a claimed one. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { Health } from '../shapes.ts';
import { isOpenToListeners } from '../open-to-listeners.ts';
import { claim, logIn, look } from '../session.ts';
import { differs, NewPassword, NOTHING_TYPED } from '../parts/new-password.tsx';
import { Button, Field, Form, Input, Notice, useAction, useAnswer } from '../ui.tsx';

function Gate({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return (
    <main class="gate">
      <div class="gate-card">
        <p class="brand">
          <span class="logo" aria-hidden="true" />
          Energy gateway
        </p>
        <h1>{title}</h1>
        {children}
        {isOpenToListeners() && <Unencrypted />}
      </div>
    </main>
  );
}

function Unencrypted() {
  const { answer } = useAnswer(() => call<Health>('GET', '/healthz'), []);
  const address = answer?.https_port && `https://${location.hostname}:${answer.https_port}/`;
  return (
    <Notice kind="warning">
      <p>
        This connection is not encrypted.{' '}
        {address && (
          <>
            The gateway also answers at <a href={address}>{address}</a>; the browser does not know its
            certificate yet and asks once, unless <a href="/ca.pem">its authority</a> is trusted.
          </>
        )}
      </p>
    </Notice>
  );
}

export function ClaimPage() {
  const [code, setCode] = useState('');
  const [name, setName] = useState('installer');
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const action = useAction(() => claim(code.trim(), name, typed.password));
  return (
    <Gate title="Make this gateway yours">
      <p>
        Nobody has claimed it yet. The claim code stands in the terminal in which it was started or installed,
        and in the file <code>claim-code</code> in its data folder.
      </p>
      <Form action={action} submit="Claim the gateway" isIncomplete={differs(typed)}>
        <Field label="Claim code">
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
        <NameField name={name} onName={setName} label="Your name here" hint="You log in with it." />
        <NewPassword label="New password" typed={typed} onTyped={setTyped} />
      </Form>
    </Gate>
  );
}

function NameField({
  name,
  onName,
  ...field
}: {
  name: string;
  onName: (name: string) => void;
  label: string;
  hint?: string;
}) {
  return (
    <Field {...field}>
      <Input value={name} onValue={onName} name="name" required autocomplete="username" />
    </Field>
  );
}

export function LoginPage() {
  const [name, setName] = useState('installer');
  const [password, setPassword] = useState('');
  const action = useAction(() => logIn(name, password));
  return (
    <Gate title="Log in">
      <Form action={action} submit="Log in">
        <NameField name={name} onName={setName} label="Name" />
        <Field label="Password">
          <Input
            type="password"
            value={password}
            onValue={setPassword}
            name="password"
            required
            autofocus
            autocomplete="current-password"
          />
        </Field>
      </Form>
      <details>
        <summary>Password lost?</summary>
        <p>
          On the gateway itself, in its program folder: <code>npm run admin -- reset-access</code>. It ends
          all logins and shows a new claim code.
        </p>
      </details>
    </Gate>
  );
}

export function UnreachablePage() {
  return (
    <Gate title="The gateway does not answer">
      <p>Check that it runs and that this device is on its network.</p>
      <Button kind="primary" onClick={() => void look()}>
        Try again
      </Button>
    </Gate>
  );
}

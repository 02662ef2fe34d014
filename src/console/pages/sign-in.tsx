/** The first page of a new box, and the login of a claimed one. */
import { useState } from 'preact/hooks';
import { claim, logIn, look } from '../session.ts';
import { Button, ErrorNotice, Field, Form, Input, Notice, useAction } from '../ui.tsx';

const PASSWORD_LENGTH_MIN = 8;

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

/** Whether others on the way can read what is typed. */
function isOpenToListeners(): boolean {
  return location.protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(location.hostname);
}

function Unencrypted() {
  const address = `https://${location.hostname}:8443/`;
  return (
    <Notice kind="warning">
      <p>
        This connection is not encrypted. Unless it was set otherwise, the gateway also answers at{' '}
        <a href={address}>{address}</a>; the browser does not know its certificate yet and asks once.
      </p>
    </Notice>
  );
}

export function ClaimPage() {
  const [code, setCode] = useState('');
  const [name, setName] = useState('installer');
  const [password, setPassword] = useState('');
  const [repeated, setRepeated] = useState('');
  const action = useAction(() => claim(code.trim(), name, password));
  const isDifferent = repeated !== '' && repeated !== password;
  return (
    <Gate title="Make this gateway yours">
      <p>
        Nobody has claimed it yet. The claim code stands in the terminal in which it was started or installed,
        and in the file <code>claim-code</code> in its data folder.
      </p>
      <Form
        onSubmit={() => {
          if (!isDifferent) void action.start();
        }}
      >
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
        <Field label="Your name here" hint="You log in with it.">
          <Input value={name} onValue={setName} name="name" required autocomplete="username" />
        </Field>
        <Field label="New password" hint={`At least ${PASSWORD_LENGTH_MIN} characters.`}>
          <Input
            type="password"
            value={password}
            onValue={setPassword}
            name="password"
            required
            minLength={PASSWORD_LENGTH_MIN}
            autocomplete="new-password"
          />
        </Field>
        <Field label="The password again">
          <Input
            type="password"
            value={repeated}
            onValue={setRepeated}
            name="repeated"
            required
            autocomplete="new-password"
          />
        </Field>
        {isDifferent && <Notice kind="warning">The two passwords differ.</Notice>}
        <ErrorNotice error={action.error} />
        <Button kind="primary" type="submit" disabled={action.isBusy || isDifferent}>
          Claim the gateway
        </Button>
      </Form>
    </Gate>
  );
}

export function LoginPage() {
  const [name, setName] = useState('installer');
  const [password, setPassword] = useState('');
  const action = useAction(() => logIn(name, password));
  return (
    <Gate title="Log in">
      <Form onSubmit={action.start}>
        <Field label="Name">
          <Input value={name} onValue={setName} name="name" required autocomplete="username" />
        </Field>
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
        <ErrorNotice error={action.error} />
        <Button kind="primary" type="submit" disabled={action.isBusy}>
          Log in
        </Button>
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

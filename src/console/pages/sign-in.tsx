/** The login, and the page for a gateway that does not answer. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call } from '../api.ts';
import type { Health } from '../shapes.ts';
import { isOpenToListeners } from '../open-to-listeners.ts';
import { answeredByProxy, lastName, logIn, loginReason, look, pageFault } from '../session.ts';
import { LanguageChoice } from '../parts/language-choice.tsx';
import { Button, Form, InputField, Notice, useAction, useAnswer, useRefresh } from '../ui.tsx';
import { say } from '../words/index.ts';

const RETRY_MS = 5_000;

/** The frame of pages without a login. */
export function Gate({ title, children }: { title: string; children: preact.ComponentChildren }) {
  // On a phone it is scrolled to its fields; what comes after it begins at the top.
  useLayoutEffect(() => () => scrollTo(0, 0), []);
  return (
    <main class="gate">
      <div class="gate-card">
        <p class="brand">
          <span class="logo" aria-hidden="true" />
          {say.frame.product}
        </p>
        <h1>{title}</h1>
        {children}
        {isOpenToListeners() && <Unencrypted />}
        <LanguageChoice />
      </div>
    </main>
  );
}

function Unencrypted() {
  const { answer } = useAnswer(() => call<Health>('GET', '/healthz'), []);
  const address = answer?.https_port && `https://${location.hostname}:${answer.https_port}/`;
  return (
    <Notice kind="warning">
      {say.frame.notEncrypted}{' '}
      {address &&
        say.frame.alsoAnswersAt(<a href={address}>{address}</a>, (text) => <a href="/ca.pem">{text}</a>)}
    </Notice>
  );
}

/** Attributes of the control for a user name. */
export const USER_NAME = { name: 'name', required: true, autocomplete: 'username' } as const;

export function LoginPage() {
  const [name, setName] = useState(lastName);
  const [password, setPassword] = useState('');
  const action = useAction(() => logIn(name, password));
  const reason = loginReason.value;
  return (
    <Gate title={say.frame.logIn}>
      {reason && <Notice>{say.frame.loginReasons[reason]}</Notice>}
      <Form action={action} submit={say.frame.logIn} isKept>
        <InputField label={say.everywhere.name} value={name} onValue={setName} {...USER_NAME} />
        <InputField
          label={say.everywhere.password}
          type="password"
          value={password}
          onValue={setPassword}
          name="password"
          required
          autofocus
          autocomplete="current-password"
        />
      </Form>
      <details>
        <summary>{say.frame.passwordLost}</summary>
        <p>
          {say.frame.passwordLostText(
            <code>sudo energy-gateway reset-access</code>,
            <code>npm run admin -- reset-access</code>,
          )}
        </p>
      </details>
    </Gate>
  );
}

/** The login above a page with unsent input, which is shown again after the login. */
export function LoginAbove() {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    // The focus goes back as soon as the page below is shown again.
    return () => queueMicrotask(() => before instanceof HTMLElement && before.focus());
  }, []);
  return (
    <dialog
      ref={element}
      class="login-above"
      aria-label={say.frame.logIn}
      // Without a login there is nothing below to show.
      onClose={() => element.current?.showModal()}
    >
      <LoginPage />
    </dialog>
  );
}

export function UnreachablePage() {
  // The gateway may be starting, or the phone may be joining the network.
  useRefresh(() => void look(), RETRY_MS);
  return (
    <Gate title={say.frame.unreachable}>
      <p>{answeredByProxy.value ?? say.frame.unreachableHint}</p>
      <Button kind="primary" onClick={() => void look()}>
        {say.frame.tryAgain}
      </Button>
    </Gate>
  );
}

/** Shown for a fault of the page itself, where trying again does not help. */
export function FailedPage() {
  return (
    <Gate title={say.frame.pageFailed}>
      <p>{say.frame.pageFailedHint}</p>
      <p>
        <code>{pageFault.value}</code>
      </p>
    </Gate>
  );
}

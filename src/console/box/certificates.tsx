/** How the connection is encrypted, and what a browser must trust for it. */
import { isOpenToListeners } from '../open-to-listeners.ts';
import type { Health } from '../shapes.ts';
import { Card, Fact, Notice } from '../ui.tsx';

export function CertificatesCard({ health }: { health: Health | undefined }) {
  const port = health?.https_port;
  const address = port === undefined ? undefined : `https://${location.hostname}:${port}/`;
  return (
    <Card title="Encryption" data-test="certificates">
      {isOpenToListeners() && (
        <Notice kind="warning">
          <p>This connection is not encrypted: others on the network can read what is typed.</p>
        </Notice>
      )}
      <dl class="facts">
        <Fact name="HTTPS">
          {health && (address === undefined ? 'off' : <a href={address}>{address}</a>)}
        </Fact>
        {address !== undefined && (
          <Fact name="Authority">
            <a href="/ca.pem" download>
              PEM
            </a>
            ,{' '}
            <a href="/ca.crt" download>
              CRT
            </a>
          </Fact>
        )}
      </dl>
      {address !== undefined && (
        <p class="hint">
          Browsers and devices that trust the authority of this gateway connect without a warning. Its
          certificates are renewed by themselves.
        </p>
      )}
    </Card>
  );
}

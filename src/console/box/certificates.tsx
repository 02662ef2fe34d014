/** How the connection is encrypted, and what a browser must trust for it. */
import { alertTitle } from '../alert-title.ts';
import { liveDevices, statusVersion } from '../live.ts';
import { isOpenToListeners } from '../open-to-listeners.ts';
import type { Health } from '../shapes.ts';
import { Card, Notice } from '../ui.tsx';
import { Fact } from '../ui/page-components.tsx';
import { say } from '../words/later.ts';

export function CertificatesCard({ health }: { health: Health | undefined }) {
  const port = health?.https_port;
  const address = port === undefined ? undefined : `https://${location.hostname}:${port}/`;
  void statusVersion.value;
  const box = liveDevices().find(({ device }) => device.type === 'GATEWAY');
  const troubles = (box?.device.raised_alert_names ?? []).filter((name) => name.startsWith('certificate_'));
  return (
    <Card title={say.alerts.encryption} data-test="certificates">
      {troubles.map((name) => (
        <Notice kind="warning" key={name}>
          {box && alertTitle(box, name)}
        </Notice>
      ))}
      {isOpenToListeners() && <Notice kind="warning">{say.box.notEncrypted}</Notice>}
      <dl class="facts">
        <Fact name={say.box.https}>
          {health && (address === undefined ? say.box.off : <a href={address}>{address}</a>)}
        </Fact>
        {address !== undefined && (
          <Fact name={say.box.authority}>
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
      {address !== undefined && <p class="hint">{say.box.authorityHint}</p>}
    </Card>
  );
}

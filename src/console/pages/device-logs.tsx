/** The log of a device, and what it exchanges with its module. */
import { callFor, path } from '../api.ts';
import { listenToLog, type LiveDevice } from '../live.ts';
import { FieldTraceCard } from '../parts/field-trace.tsx';
import { LogView } from '../parts/log-view.tsx';
import { say } from '../words/index.ts';

const PAGE = 50;

export function LogsTab({ live }: { live: LiveDevice }) {
  const { id } = live.device;
  return (
    <>
      <LogView
        nothing={say.devices.logNothing}
        source={{
          id,
          pageSize: PAGE,
          listen: (listener) => listenToLog(id, listener),
          load: (severities, offset) => {
            const list = path`/v3/devices/${id}/logs`;
            const query = `limit=${PAGE}&offset=${offset}&severity=${severities.join(',')}`;
            return callFor('logs', 'GET', `${list}?${query}`);
          },
        }}
      />
      <FieldTraceCard device={live.device} />
    </>
  );
}

/** The head of the history and its two sides. */
import { PageHead, Tabs } from '../ui.tsx';

/** In the address, where a stretch of time stands else. */
export const ENERGY = 'energy';

const TABS = [
  ['', 'Values'],
  [ENERGY, 'Energy'],
] as const;

export function HistoryHead({ tab }: { tab: '' | typeof ENERGY }) {
  return (
    <>
      <PageHead title="History" />
      <Tabs name="History" base="#/history" tabs={TABS} current={tab} />
    </>
  );
}

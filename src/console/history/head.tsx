/** The head of the history and its two sides. */
import { PageHead } from '../ui.tsx';
import { Tabs } from '../ui/page-pieces.tsx';
import { say } from '../words/index.ts';

/** In the address, where a stretch of time stands else. */
export const ENERGY = 'energy';

const TABS = [
  ['', say.everywhere.values],
  [ENERGY, say.history.energy],
] as const;

export function HistoryHead({ tab }: { tab: '' | typeof ENERGY }) {
  return (
    <>
      <PageHead title={say.everywhere.history} />
      <Tabs name={say.everywhere.history} base="#/history" tabs={TABS} current={tab} />
    </>
  );
}

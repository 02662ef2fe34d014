/** The head of the history and its two sides. */
import { PageHead } from '../ui.tsx';
import { tabAt, Tabs } from '../ui/page-pieces.tsx';
import { say } from '../words/index.ts';

/** In the address, where a stretch of time stands otherwise. */
export const ENERGY = 'energy';

const TABS = [
  { key: '', text: say.everywhere.values },
  { key: ENERGY, text: say.history.energy },
];

export function HistoryHead({ tab }: { tab: '' | typeof ENERGY }) {
  return (
    <>
      <PageHead title={say.everywhere.history} />
      <Tabs name={say.everywhere.history} base="#/history" tabs={TABS} current={tabAt(TABS, tab)} />
    </>
  );
}

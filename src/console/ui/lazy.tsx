/** Parts of the console that are loaded when they are first shown. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isConnected } from '../connection.ts';
import { Button, ErrorNotice, Loading } from './components.tsx';
import { say } from '../words/index.ts';

export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  return function Lazy(props: Props) {
    const [Part, setPart] = useState(() => loaded);
    const [failed, setFailed] = useState<'away' | 'there' | undefined>(undefined);
    useEffect(() => {
      if (Part) return;
      load().then(
        (found) => {
          loaded = found;
          setPart(() => found);
        },
        () => setFailed(isConnected.value ? 'there' : 'away'),
      );
    }, []);
    const isBack = failed === 'away' && isConnected.value;
    useEffect(() => {
      // Browsers remember that a module could not be loaded, and do not ask again.
      if (isBack) location.reload();
    }, [isBack]);
    if (Part) return <Part {...props} />;
    if (failed === undefined) return <Loading />;
    return (
      <>
        <ErrorNotice error={LOST} />
        <Button onClick={() => location.reload()}>{say.frame.loadAgain}</Button>
      </>
    );
  };
}

/** After an upgrade of the gateway the file has another name. */
const LOST = new Error(say.frame.pageLost);

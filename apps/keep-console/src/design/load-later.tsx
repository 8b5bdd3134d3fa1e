import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import { type ComponentType, useEffect, useState } from "react";

type Loaded<Props> = { readonly default: ComponentType<Props> };

/** A component whose code is loaded when it is first shown, so that the first screen stays small. */
export function loadLater<Props extends object>(load: () => Promise<Loaded<Props>>): ComponentType<Props> {
  return function LoadedLater(props: Props) {
    const [loaded, setLoaded] = useState<Loaded<Props> | "failed">();
    useEffect(() => {
      load().then(setLoaded, () => setLoaded("failed"));
    }, []);
    if (loaded === undefined) return <Loading />;
    if (loaded === "failed")
      return <ErrorNotice text="This part of the screen failed to load." nextStep="Reload the page." />;
    return <loaded.default {...props} />;
  };
}

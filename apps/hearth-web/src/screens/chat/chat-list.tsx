import { AddIcon } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import { DeleteIcon } from "../../design/icons.tsx";
import { go, Link } from "../../router/router.tsx";
import { chats, removeAllChats, removeChat } from "../../state/chats.ts";
import { useStore } from "../../state/store.ts";

export type ChatListProps = {
  readonly current: string | undefined;
  readonly onChosen?: () => void;
};

export function ChatList({ current, onChosen }: ChatListProps) {
  const { list } = useStore(chats);
  const [isClearing, setIsClearing] = useState(false);
  return (
    <div className="chat-list">
      <Link place="chat" className="button" onClick={() => onChosen?.()}>
        <AddIcon />
        New chat
      </Link>
      <ul>
        {list.map(({ id, title }) => (
          <li key={id}>
            <Link
              place="chat"
              conversation={id}
              className="one-line"
              title={title}
              onClick={() => onChosen?.()}
              {...(id === current ? { "aria-current": "page" } : {})}
            >
              {title}
            </Link>
            <button
              type="button"
              className="button bare square"
              aria-label={`Delete the chat ${title}`}
              onClick={() => {
                void removeChat(id);
                if (id === current) go("chat");
              }}
            >
              <DeleteIcon />
            </button>
          </li>
        ))}
      </ul>
      <p className="quiet small">
        {list.length === 0 ? "Chats are kept in this browser alone." : "Kept in this browser alone."}{" "}
        {list.length > 0 && (
          <button type="button" className="text-button" onClick={() => setIsClearing(true)}>
            Clear all
          </button>
        )}
      </p>
      {isClearing && (
        <ClearAll count={list.length} onClose={() => setIsClearing(false)} onCleared={onChosen} />
      )}
    </div>
  );
}

type ClearAllProps = {
  readonly count: number;
  readonly onClose: () => void;
  readonly onCleared: (() => void) | undefined;
};

function ClearAll({ count, onClose, onCleared }: ClearAllProps) {
  const clear = (): void => {
    void removeAllChats();
    onClose();
    onCleared?.();
    go("chat");
  };
  return (
    <Dialog
      title={count === 1 ? "Delete the one chat?" : `Delete all ${count} chats?`}
      onClose={onClose}
      action={
        <button type="button" className="button bad" onClick={clear}>
          Delete all
        </button>
      }
    >
      <p>They are in this browser alone, so nothing brings them back.</p>
    </Dialog>
  );
}

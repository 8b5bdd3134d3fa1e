import { AddIcon } from "@hearth-and-keep/page-design";
import { useState } from "react";
import { Dialog } from "../../design/dialog.tsx";
import { DeleteIcon } from "../../design/icons.tsx";
import { Link, navigate } from "../../router/router.tsx";
import { chats, deleteAllChats, deleteChat } from "../../state/chats.ts";
import { useStore } from "../../state/store.ts";

export type ChatListProps = {
  readonly current: string | undefined;
  readonly onSelect?: () => void;
};

export function ChatList({ current, onSelect }: ChatListProps) {
  const { list } = useStore(chats);
  const [isDeletingAll, setIsDeletingAll] = useState(false);
  return (
    <div className="chat-list">
      <Link section="chat" className="button" onClick={() => onSelect?.()}>
        <AddIcon />
        New chat
      </Link>
      <ul>
        {list.map(({ id, title }) => (
          <li key={id}>
            <Link
              section="chat"
              conversation={id}
              className="truncate"
              title={title}
              onClick={() => onSelect?.()}
              {...(id === current ? { "aria-current": "page" } : {})}
            >
              {title}
            </Link>
            <button
              type="button"
              className="button ghost square"
              aria-label={`Delete chat ${title}`}
              onClick={() => {
                void deleteChat(id);
                if (id === current) navigate("chat");
              }}
            >
              <DeleteIcon />
            </button>
          </li>
        ))}
      </ul>
      <p className="muted small">
        {list.length === 0 ? "Chats are stored only in this browser." : "Stored only in this browser."}{" "}
        {list.length > 0 && (
          <button type="button" className="text-button" onClick={() => setIsDeletingAll(true)}>
            Delete all chats
          </button>
        )}
      </p>
      {isDeletingAll && (
        <DeleteAllDialog count={list.length} onClose={() => setIsDeletingAll(false)} onDeleted={onSelect} />
      )}
    </div>
  );
}

type DeleteAllDialogProps = {
  readonly count: number;
  readonly onClose: () => void;
  readonly onDeleted: (() => void) | undefined;
};

function DeleteAllDialog({ count, onClose, onDeleted }: DeleteAllDialogProps) {
  const deleteAll = (): void => {
    void deleteAllChats();
    onClose();
    onDeleted?.();
    navigate("chat");
  };
  return (
    <Dialog
      title={count === 1 ? "Delete your only chat?" : `Delete all ${count} chats?`}
      onClose={onClose}
      action={
        <button type="button" className="button danger" onClick={deleteAll}>
          Delete all
        </button>
      }
    >
      <p>Chats are stored only in this browser. This cannot be undone.</p>
    </Dialog>
  );
}

import { Empty } from "../../design/states.tsx";

export default function AccountScreen() {
  return <Empty title="Account">Soon.</Empty>;
}

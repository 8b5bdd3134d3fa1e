import { Empty } from "../../design/states.tsx";

export default function WelcomeScreen() {
  return <Empty title="Welcome">Soon.</Empty>;
}

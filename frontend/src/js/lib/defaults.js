// Grey figures of the advanced parameters follow the profile that is chosen.

/** Connects the form's profile with the placeholders of its numbers. */
export function followProfile() {
  const profile = document.getElementById("profile");
  if (!profile) return;
  const show = () => {
    for (const input of document.querySelectorAll("input[data-quick]")) {
      // Grey and not typed: what stays empty follows the profile also when its defaults change later.
      input.placeholder = input.dataset[profile.value] ?? "";
    }
  };
  profile.addEventListener("change", show);
  show();
}

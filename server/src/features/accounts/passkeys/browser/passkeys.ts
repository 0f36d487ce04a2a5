/**
 * Adds passkeys and signs in with them. Elements with `data-passkey` are hidden, and a hint is visible, until this
 * module finds that the browser supports passkeys.
 * On submit the module gets options from the server and a credential from the authenticator, and posts the credential
 * with the form. So the server answers with errors and redirects, as for every form.
 */
for (const form of document.querySelectorAll<HTMLFormElement>('[data-passkey] form')) {
  const box = form.closest<HTMLElement>('[data-passkey]');
  const problem = box?.querySelector<HTMLElement>('[role=alert]');
  if (!box || !problem || !window.PublicKeyCredential) continue;
  box.hidden = false;
  for (const hint of document.querySelectorAll<HTMLElement>('[data-passkey-hint]')) hint.hidden = true;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    problem.hidden = true;
    try {
      const address = box.dataset.options ?? '';
      const publicKey =
        box.dataset.passkey === 'add'
          ? creationOptions(await fetchOptions(address, form))
          : requestOptions(await fetchOptions(address, form));
      const credential = await ('user' in publicKey
        ? navigator.credentials.create({ publicKey })
        : navigator.credentials.get({ publicKey }));
      const field = form.elements.namedItem('credential');
      if (!credential || !(field instanceof HTMLInputElement)) throw new Error('no credential');
      field.value = JSON.stringify(toJson(credential));
      form.submit();
    } catch {
      problem.hidden = false;
    }
  });
}

async function fetchOptions<Options>(address: string, form: HTMLFormElement): Promise<Options> {
  const csrf = String(new FormData(form).get('csrf'));
  const response = await fetch(address, { method: 'POST', body: new URLSearchParams({ csrf }) });
  if (!response.headers.get('content-type')?.startsWith('application/json')) {
    // The sign-in is too long ago: the server has redirected to the sign-in page.
    if (response.redirected) location.assign(response.url);
    throw new Error('no options');
  }
  return response.json();
}

/** Browsers before 2025 support WebAuthn without the conversions from and to JSON. */
function creationOptions(json: PublicKeyCredentialCreationOptionsJSON): PublicKeyCredentialCreationOptions {
  if (PublicKeyCredential.parseCreationOptionsFromJSON) return PublicKeyCredential.parseCreationOptionsFromJSON(json);
  return {
    rp: json.rp,
    user: { ...json.user, id: toBytes(json.user.id) },
    challenge: toBytes(json.challenge),
    pubKeyCredParams: json.pubKeyCredParams,
    excludeCredentials: (json.excludeCredentials ?? []).map(toDescriptor),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
  };
}

function requestOptions(json: PublicKeyCredentialRequestOptionsJSON): PublicKeyCredentialRequestOptions {
  if (PublicKeyCredential.parseRequestOptionsFromJSON) return PublicKeyCredential.parseRequestOptionsFromJSON(json);
  return {
    challenge: toBytes(json.challenge),
    ...(json.rpId ? { rpId: json.rpId } : {}),
    userVerification: 'required',
  };
}

const toDescriptor = ({ id }: { id: string }): PublicKeyCredentialDescriptor => ({
  id: toBytes(id),
  type: 'public-key',
});

function toJson(credential: Credential): unknown {
  const passkey = credential as PublicKeyCredential;
  if (passkey.toJSON) return passkey.toJSON();
  const { id, rawId, type, response } = passkey;
  const names = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'] as const;
  const parts = response as unknown as Partial<Record<(typeof names)[number], ArrayBuffer>>;
  return {
    id,
    rawId: toText(rawId),
    type,
    clientExtensionResults: passkey.getClientExtensionResults(),
    response: Object.fromEntries(
      names.flatMap((name) => {
        const bytes = parts[name];
        return bytes ? [[name, toText(bytes)]] : [];
      }),
    ),
  };
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

function toText(bytes: ArrayBuffer): string {
  const binary = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

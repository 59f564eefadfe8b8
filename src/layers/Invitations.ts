import { Layer } from "effect"
import { MailedTokens } from "../services/accounts/MailedLinks.ts"
import { Invitations, NewAccounts, SignUps } from "../services/accounts/SignUp.ts"
import { Audit } from "../services/identity/Audit.ts"
import { Handles } from "../services/identity/Names.ts"
import { Outbox } from "../services/mail/Outbox.ts"

export const invitationsLayer = Invitations.layer.pipe(
  Layer.provide(NewAccounts.layer),
  Layer.provide([Audit.layer, Handles.layer, MailedTokens.layer, Outbox.layer, SignUps.layer])
)

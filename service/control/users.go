package control

// Invited reports whether the account is only a name that was given a role: nobody can be it yet.
func (a Account) Invited() bool {
	return a.Kind == PrincipalUser && a.Password == "" && a.Subject == "" && a.SignedInAt.IsZero()
}

// Ref names the account.
func (a Account) Ref() AccountRef { return AccountRef{Kind: a.Kind, Name: a.Name, Domain: a.Domain} }

package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/internal/phrase"

	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/service/control/identity"
	"fairlane/tenants"
)

// Service accounts without a tenant and those of a tenant have separate routes, so that the path determines the domain of
// the required right. Their handlers do the same.

func serviceRef(d tenants.Domain, name string) control.AccountRef {
	return control.AccountRef{Kind: control.PrincipalService, Name: name, Domain: d}
}

func (s *Server) serviceAccounts(ctx context.Context, d tenants.Domain, limit *gen.Limit, from *gen.Cursor) (gen.ServiceAccountList, error) {
	items, next, err := listed(ctx, d, limit, from, s.control.ListServiceAccounts, serviceAccountOut)
	return gen.ServiceAccountList{Items: items, NextCursor: next}, err
}

func (s *Server) createServiceAccount(ctx context.Context, d tenants.Domain, body gen.ServiceAccountCreate) (gen.ServiceAccount, error) {
	a, err := s.control.CreateServiceAccount(ctx, identity.ServiceAccountInput{
		Name: body.Name, DisplayName: deref(body.DisplayName), Grant: tenants.Grant{Role: tenants.Role(body.Role), Domain: d},
	})
	return serviceAccountOut(a), err
}

func serviceAccountOut(a control.Account) gen.ServiceAccount {
	out := gen.ServiceAccount{Name: a.Name, DisplayName: a.DisplayName, CreatedAt: a.CreatedAt}
	if len(a.Memberships) > 0 {
		out.Role = gen.Role(a.Memberships[0].Role)
		if d := a.Memberships[0].Domain; d.IsFabric() {
			out.Fabric = &d.Fabric
		}
	}
	return out
}

func (s *Server) tokens(ctx context.Context, d tenants.Domain, account string) (gen.TokenList, error) {
	list, err := s.control.ListTokens(ctx, serviceRef(d, account))
	return gen.TokenList{Items: mapped(list, tokenOut)}, err
}

func (s *Server) ListServiceAccounts(ctx context.Context, r server.ListServiceAccountsRequestObject) (server.ListServiceAccountsResponseObject, error) {
	out, err := s.serviceAccounts(ctx, tenants.Domain{}, r.Params.Limit, r.Params.Cursor)
	return server.ListServiceAccounts200JSONResponse(out), err
}

func (s *Server) CreateServiceAccount(ctx context.Context, r server.CreateServiceAccountRequestObject) (server.CreateServiceAccountResponseObject, error) {
	out, err := s.createServiceAccount(ctx, tenants.Domain{Fabric: deref(r.Body.Fabric)}, *r.Body)
	return server.CreateServiceAccount201JSONResponse(out), err
}

func (s *Server) DeleteServiceAccount(ctx context.Context, r server.DeleteServiceAccountRequestObject) (server.DeleteServiceAccountResponseObject, error) {
	return server.DeleteServiceAccount204Response{}, s.control.DeleteServiceAccount(ctx, tenants.Domain{}, r.Account)
}

func (s *Server) ListServiceAccountTokens(ctx context.Context, r server.ListServiceAccountTokensRequestObject) (server.ListServiceAccountTokensResponseObject, error) {
	out, err := s.tokens(ctx, tenants.Domain{}, r.Account)
	return server.ListServiceAccountTokens200JSONResponse(out), err
}

func (s *Server) CreateServiceAccountToken(ctx context.Context, r server.CreateServiceAccountTokenRequestObject) (server.CreateServiceAccountTokenResponseObject, error) {
	out, err := s.newToken(ctx, serviceRef(tenants.Domain{}, r.Account), *r.Body)
	return server.CreateServiceAccountToken201JSONResponse(out), err
}

func (s *Server) DeleteServiceAccountToken(ctx context.Context, r server.DeleteServiceAccountTokenRequestObject) (server.DeleteServiceAccountTokenResponseObject, error) {
	return server.DeleteServiceAccountToken204Response{}, s.control.DeleteToken(ctx, serviceRef(tenants.Domain{}, r.Account), r.Token)
}

func (s *Server) ListTenantServiceAccounts(ctx context.Context, r server.ListTenantServiceAccountsRequestObject) (server.ListTenantServiceAccountsResponseObject, error) {
	out, err := s.serviceAccounts(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Params.Limit, r.Params.Cursor)
	return server.ListTenantServiceAccounts200JSONResponse(out), err
}

func (s *Server) CreateTenantServiceAccount(ctx context.Context, r server.CreateTenantServiceAccountRequestObject) (server.CreateTenantServiceAccountResponseObject, error) {
	if r.Body.Fabric != nil {
		return nil, control.Invalid("/fabric", phrase.Of("problem.tenant-account-fabric", "found", *r.Body.Fabric))
	}
	out, err := s.createServiceAccount(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, *r.Body)
	return server.CreateTenantServiceAccount201JSONResponse(out), err
}

func (s *Server) DeleteTenantServiceAccount(ctx context.Context, r server.DeleteTenantServiceAccountRequestObject) (server.DeleteTenantServiceAccountResponseObject, error) {
	return server.DeleteTenantServiceAccount204Response{}, s.control.DeleteServiceAccount(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Account)
}

func (s *Server) ListTenantServiceAccountTokens(ctx context.Context, r server.ListTenantServiceAccountTokensRequestObject) (server.ListTenantServiceAccountTokensResponseObject, error) {
	out, err := s.tokens(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Account)
	return server.ListTenantServiceAccountTokens200JSONResponse(out), err
}

func (s *Server) CreateTenantServiceAccountToken(ctx context.Context, r server.CreateTenantServiceAccountTokenRequestObject) (server.CreateTenantServiceAccountTokenResponseObject, error) {
	out, err := s.newToken(ctx, serviceRef(tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Account), *r.Body)
	return server.CreateTenantServiceAccountToken201JSONResponse(out), err
}

func (s *Server) DeleteTenantServiceAccountToken(ctx context.Context, r server.DeleteTenantServiceAccountTokenRequestObject) (server.DeleteTenantServiceAccountTokenResponseObject, error) {
	d := tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}
	return server.DeleteTenantServiceAccountToken204Response{}, s.control.DeleteToken(ctx, serviceRef(d, r.Account), r.Token)
}

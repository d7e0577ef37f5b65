package prometheus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

const (
	// awsService is the name that AWS gives to its Prometheus.
	awsService = "aps"
	// mostSigners bounds what is remembered; past it, all is forgotten.
	mostSigners = 100
)

// signers remembers, by configuration, what the AWS SDK found in its environment.
type signers struct {
	signer *v4.Signer
	mu     sync.Mutex
	known  map[v1alpha1.Sigv4Config]aws.Config
	// load is config.LoadDefaultConfig.
	load func(context.Context, ...func(*config.LoadOptions) error) (aws.Config, error)
}

func newSigners() *signers {
	return &signers{signer: v4.NewSigner(), known: map[v1alpha1.Sigv4Config]aws.Config{}, load: config.LoadDefaultConfig}
}

// of gives what signs requests by that configuration.
func (s *signers) of(c v1alpha1.Sigv4Config) func(context.Context, *http.Request, []byte) error {
	return func(ctx context.Context, r *http.Request, body []byte) error {
		account, err := s.account(ctx, c)
		if err != nil {
			return fmt.Errorf("authentication.sigv4: %w", err)
		}
		keys, err := account.Credentials.Retrieve(ctx)
		if err != nil {
			return fmt.Errorf("authentication.sigv4: find credentials for AWS: %w", err)
		}
		sum := sha256.Sum256(body)
		return s.signer.SignHTTP(ctx, keys, r, hex.EncodeToString(sum[:]), awsService, account.Region, time.Now())
	}
}

// account is the region with credentials that renew themselves.
func (s *signers) account(ctx context.Context, c v1alpha1.Sigv4Config) (aws.Config, error) {
	s.mu.Lock()
	known, ok := s.known[c]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
	}
	if c.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(c.Profile))
	}
	account, err := s.load(ctx, options...)
	if err != nil {
		return account, fmt.Errorf("find credentials and region for AWS: %w", err)
	}
	if account.Region == "" {
		return account, errors.New("there is no region: neither the metric nor the environment of the controller names one")
	}
	if c.RoleARN != "" {
		account.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(account), c.RoleARN))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= mostSigners {
		clear(s.known)
	}
	s.known[c] = account
	return account, nil
}

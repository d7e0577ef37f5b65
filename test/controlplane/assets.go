package controlplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// tries is how often a start is repeated: a free port that was found may be
	// taken by another program before it is used.
	tries = 3
	// assetLimit bounds one try.
	assetLimit = time.Minute
)

// fromAssets runs the etcd and kube-apiserver of a folder until the test ends.
func fromAssets(t testing.TB, assets string) Cluster {
	t.Helper()
	var err error
	for range tries {
		var s *server
		if s, err = startServer(t.TempDir(), assets); err == nil {
			t.Cleanup(s.stop)
			return Cluster{Config: s.config}
		}
	}
	t.Fatalf("%s=%s: %v", assetsEnv, assets, err)
	return Cluster{}
}

// server is a running pair of etcd and kube-apiserver.
type server struct {
	config  *rest.Config
	running []*exec.Cmd
	ended   chan error
}

func startServer(dir, assets string) (*server, error) {
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	token, err := credentials(dir)
	if err != nil {
		return nil, err
	}
	s := &server{ended: make(chan error, 2)}
	client := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	err = s.run(dir, filepath.Join(assets, "etcd"),
		"--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
		"--initial-cluster=default="+peer)
	if err == nil {
		err = s.run(dir, filepath.Join(assets, "kube-apiserver"), serverArgs(dir, client, ports[2])...)
	}
	s.config = &rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", ports[2]), BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "apiserver.crt")},
	}
	if err == nil {
		err = s.awaitReady()
	}
	if err == nil {
		// The caller's config must not lead to a file that a test's end removes.
		s.config.CAData, err = os.ReadFile(s.config.CAFile)
		s.config.CAFile = ""
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// serverArgs starts the API server as the product meets it, less what needs
// controllers: nobody makes service accounts, and nobody takes taints off.
func serverArgs(dir, etcd string, port int) []string {
	key := filepath.Join(dir, "service-account.key")
	return []string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--cert-dir=" + dir,
		"--token-auth-file=" + filepath.Join(dir, "tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
		"--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
	}
}

// credentials writes the administrator's token and the service account key.
func credentials(dir string) (token string, err error) {
	secret := make([]byte, 24)
	if _, err := rand.Read(secret); err != nil {
		return "", err
	}
	token = hex.EncodeToString(secret)
	line := token + `,sluice-admin,sluice-admin,"system:masters"` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(line), 0o600); err != nil {
		return "", err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return "", err
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return token, os.WriteFile(filepath.Join(dir, "service-account.key"), data, 0o600)
}

func (s *server) run(dir, program string, args ...string) error {
	log, err := os.Create(filepath.Join(dir, filepath.Base(program)+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = log, log
	bindToParent(command)
	if err := startBound(command); err != nil {
		return err
	}
	s.running = append(s.running, command)
	go func() {
		err := command.Wait()
		s.ended <- fmt.Errorf("%s ended (%v): %s", program, err, lastBytes(log.Name()))
	}()
	return nil
}

func (s *server) stop() {
	for i := len(s.running) - 1; i >= 0; i-- {
		_ = s.running[i].Process.Kill()
		<-s.ended
	}
	s.running = nil
}

func (s *server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), assetLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		// The certificate appears while the server starts, so the client is
		// made anew each time.
		last := s.ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case err := <-s.ended:
			s.ended <- err // stop waits for it too
			return err
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", last)
		case <-tick.C:
		}
	}
}

func (s *server) ready(ctx context.Context) error {
	client, err := rest.HTTPClientFor(s.config)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.config.Host+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz says %s", response.Status)
	}
	return nil
}

// freePorts finds ports of the loopback that nobody uses now.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // at the end, so that no port is found twice
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func lastBytes(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-1000):])
}

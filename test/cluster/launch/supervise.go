package launch

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-project/sluice/test/cluster/component"
)

const (
	// settle is how long a part must live for its end to count as an accident,
	// which is mended by a restart, and not as a failed start.
	settle = 3 * time.Second
	// restartAfter is the pause before a part is started again.
	restartAfter = 500 * time.Millisecond
	// logTail is how much of a log a failure shows, in bytes.
	logTail = 2000
)

// part is one supervised process.
type part struct {
	config   component.Config
	name     string
	messages io.Writer

	mu      sync.Mutex
	command *exec.Cmd
	closed  bool
	done    chan struct{}
}

// supervise starts a part and starts it again whenever it ends, until close. A
// start that fails at once is reported to failed and not repeated.
func supervise(c component.Config, name string, messages io.Writer, failed chan<- error) (*part, error) {
	p := &part{config: c, name: name, messages: messages, done: make(chan struct{})}
	first := make(chan error)
	go func() {
		// The kernel binds a child to the thread that made it.
		runtime.LockOSThread()
		defer close(p.done)
		p.loop(first, failed)
	}()
	return p, <-first
}

func (p *part) loop(first chan<- error, failed chan<- error) {
	for n := 0; ; n++ {
		began := time.Now()
		command, err := p.start()
		if n == 0 {
			first <- err
		}
		if err != nil {
			return
		}
		if command == nil {
			return // closed
		}
		err = command.Wait()
		if p.isClosed() {
			return
		}
		if n == 0 && time.Since(began) < settle {
			select {
			case failed <- fmt.Errorf("%s ended at once (%v):\n%s", p.name, err, tail(p.config.Log(p.name))):
			default:
			}
			return
		}
		fmt.Fprintf(p.messages, "sluice-cluster: %s ended (%v) and is started again\n", p.name, err)
		time.Sleep(restartAfter)
	}
}

// start runs the part once; nil without an error means that it was closed.
func (p *part) start() (*exec.Cmd, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	logFile, err := os.OpenFile(p.config.Log(p.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	command := exec.Command(self, "component", p.name, "--dir", p.config.Dir)
	command.Stdout, command.Stderr = logFile, logFile
	// Its own group: the terminal's interrupt is for the parent to act on.
	command.SysProcAttr = bound(syscall.SIGKILL, true)
	if _, err := command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p.command = command
	pid := strconv.Itoa(command.Process.Pid)
	return command, os.WriteFile(p.config.Path(p.name+".pid"), []byte(pid+"\n"), 0o600)
}

func (p *part) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// close kills the part, for its state is thrown away, and waits for its end.
func (p *part) close() {
	p.mu.Lock()
	p.closed = true
	if p.command != nil {
		_ = p.command.Process.Kill()
	}
	p.mu.Unlock()
	<-p.done
}

func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if len(data) > logTail {
		data = data[len(data)-logTail:]
	}
	return strings.TrimSpace(string(data))
}

const (
	folderPrefix = "sluice-cluster-"
	lockFile     = "lock"
)

// lock marks a folder as in use by this process.
func lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s is in use by another cluster", dir)
	}
	return func() { _ = f.Close() }, nil
}

// sweep removes folders whose owner is dead. One that has no lock yet is being
// made and is left alone.
func sweep(parent string) {
	folders, err := filepath.Glob(filepath.Join(parent, folderPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range folders {
		if _, err := os.Stat(filepath.Join(dir, lockFile)); err != nil {
			continue
		}
		if unlock, err := lock(dir); err == nil {
			_ = os.RemoveAll(dir)
			unlock()
		}
	}
}

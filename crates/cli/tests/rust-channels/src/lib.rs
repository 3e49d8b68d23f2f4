//! Small programs over crossbeam's channels and queues, some right and some wrong.

#[cfg(test)]
mod right {
    use crossbeam_channel::{bounded, unbounded};
    use crossbeam_queue::{ArrayQueue, SegQueue};
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn unbounded_channel() {
        let (sender, receiver) = unbounded();
        let t = thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(receiver.recv(), Ok(7));
        t.join().unwrap();
    }

    #[test]
    fn bounded_channel() {
        let (sender, receiver) = bounded(1);
        let t = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Ok(2)));
        t.join().unwrap();
    }

    #[test]
    fn rendezvous() {
        let (sender, receiver) = bounded(0);
        let t = thread::spawn(move || sender.send(7).unwrap());
        assert_eq!(receiver.recv(), Ok(7));
        t.join().unwrap();
    }

    #[test]
    fn array_queue() {
        let queue = Arc::new(ArrayQueue::new(2));
        let other = queue.clone();
        let t = thread::spawn(move || other.push(1).unwrap());
        queue.push(2).unwrap();
        t.join().unwrap();
        let mut all = [queue.pop().unwrap(), queue.pop().unwrap()];
        all.sort_unstable();
        assert_eq!((all, queue.pop()), ([1, 2], None));
    }

    #[test]
    fn seg_queue() {
        let queue = Arc::new(SegQueue::new());
        let other = queue.clone();
        let t = thread::spawn(move || other.push(1));
        let seen = queue.pop();
        t.join().unwrap();
        assert_eq!(seen.or_else(|| queue.pop()), Some(1));
    }
}

#[cfg(test)]
mod wrong {
    use crossbeam_channel::{bounded, unbounded};
    use crossbeam_queue::ArrayQueue;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn order_of_messages() {
        let (sender, receiver) = unbounded();
        let other = sender.clone();
        let t = thread::spawn(move || other.send(1).unwrap());
        sender.send(2).unwrap();
        t.join().unwrap();
        assert_eq!(receiver.recv(), Ok(2));
    }

    /// Both send before they receive.
    #[test]
    fn both_send_first() {
        let ((to_other, from_main), (to_main, from_other)) = (bounded(0), bounded(0));
        let t = thread::spawn(move || {
            to_main.send(1).unwrap();
            from_main.recv().unwrap();
        });
        to_other.send(2).unwrap();
        from_other.recv().unwrap();
        t.join().unwrap();
    }

    #[test]
    fn no_room() {
        let queue = Arc::new(ArrayQueue::new(1));
        let other = queue.clone();
        let t = thread::spawn(move || other.push(1).is_ok());
        assert!(queue.push(2).is_ok(), "there was room");
        t.join().unwrap();
    }
}
